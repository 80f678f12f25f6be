"""Tests of the server's rooms."""
