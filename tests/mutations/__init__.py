"""Mutations of the engine, each breaking one rule; run by hand, not by pytest."""
