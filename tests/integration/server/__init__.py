"""Tests of the server's rooms, mirroring them."""
