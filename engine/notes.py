"""The notes: what a result says about itself beside its figures."""
