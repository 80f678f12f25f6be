"""Dispatch: one call from its arguments to its answer, with caps, lanes and a deadline."""
