"""Tests of the views in a real browser; what they do there stands in widgets/tests."""
