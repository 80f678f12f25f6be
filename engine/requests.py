"""The requests: what may be asked, as values whose field docstrings are the schema."""
