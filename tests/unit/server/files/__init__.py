"""Tests of server/files."""
