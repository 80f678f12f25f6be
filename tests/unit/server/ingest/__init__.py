"""Tests of server/ingest."""
