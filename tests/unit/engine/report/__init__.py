"""Tests of engine/report."""
