"""Ingest: one load from extract to publish."""
