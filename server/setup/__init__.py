"""Setup: a first instance proposed from files, answered, written and loaded."""
