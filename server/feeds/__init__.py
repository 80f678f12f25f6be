"""Feeds: sources, extracts and placements of facts, as integrations.yaml and instance.yaml name them."""
