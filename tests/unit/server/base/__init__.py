"""Tests of server/base."""
