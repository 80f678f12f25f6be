"""Tests of server/daemon."""
