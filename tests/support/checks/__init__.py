"""Checks of the code and of the suite itself."""
