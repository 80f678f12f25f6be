"""The law of order: no answer depends on what was asked before, or at the same time."""
