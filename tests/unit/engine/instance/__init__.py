"""Tests of engine/instance."""
