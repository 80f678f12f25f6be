"""Tests of server/stores."""
