"""Engines: an adapter for each database that answers reports."""
