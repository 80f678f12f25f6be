"""Tokens: from a bearer token to a principal."""
