"""Sources and bindings: where the books come from, as values."""
