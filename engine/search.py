"""Search over the members that a reader may see."""
