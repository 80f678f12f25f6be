"""The catalogue: domains, measures, metrics, dimensions and statements as values."""
