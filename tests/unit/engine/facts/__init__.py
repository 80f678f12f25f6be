"""Tests of engine/facts."""
