"""Books: one version of catalogue and data, and the Readers that show it to callers."""
