"""Queries: requests with every name resolved; after this no name is a string."""
