"""Attached tables: rows of facts that stay where they are."""
