"""Tests of server/run."""
