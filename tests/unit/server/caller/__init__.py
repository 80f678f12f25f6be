"""Tests of server/caller."""
