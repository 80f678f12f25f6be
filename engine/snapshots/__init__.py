"""Snapshots: reports and inspections as bytes, to be opened again by whoever may still see all that they hold."""
