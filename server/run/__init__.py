"""Processes: the command line, workers, embedded servers and backups."""
