"""The command line: tieout serve, check, load."""
