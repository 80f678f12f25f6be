"""Tests of engine/present."""
