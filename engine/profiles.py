"""Profiles: which scenarios, domains and members a caller is granted."""
