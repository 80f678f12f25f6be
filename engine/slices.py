"""Slices: what a plan asks of the facts."""
