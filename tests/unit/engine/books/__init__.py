"""Tests of engine/books."""
