"""Readers: the books as one profile sees them, the only door to the facts."""
