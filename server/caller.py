"""Callers: what one principal can reach, as capabilities."""
