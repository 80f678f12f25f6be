"""The model: what the books are, as values, and the questions a store of facts answers; no plans."""
