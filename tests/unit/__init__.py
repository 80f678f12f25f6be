"""Tests of single rooms: the same tree as the code."""
