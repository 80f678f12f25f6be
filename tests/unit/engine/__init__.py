"""Tests of the engine's rooms, mirroring them."""
