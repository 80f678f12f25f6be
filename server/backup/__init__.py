"""Backups: everything that a deployment needs to be what it was, as one file, and back."""
