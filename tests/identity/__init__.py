"""Tests against a real identity provider."""
