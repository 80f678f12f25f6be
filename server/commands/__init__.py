"""Commands: what the command line can do, a module each."""
