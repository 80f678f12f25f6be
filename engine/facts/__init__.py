"""The Arrow store of facts: its files, manifest, writer and rollups."""
