"""Callers: what one principal can reach."""
