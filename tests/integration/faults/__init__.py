"""Faults that a machine can have, each caused for real."""
