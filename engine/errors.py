"""The refusals: whatever a caller can ask that has no answer, and what to try instead."""
