"""Tests of server/feeds."""
