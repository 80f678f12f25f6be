"""Books: one immutable version of catalogue and data; the Shelf swaps in the next."""
