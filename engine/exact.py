"""Exact figures: rationals after the sum, their one rounding, and how a figure becomes JSON."""
