"""search_hierarchy: the members and nodes a reader may see, found by name or code, or listed."""
