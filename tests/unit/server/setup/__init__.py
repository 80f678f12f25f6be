"""Tests of server/setup."""
