"""Settings: what the environment decides, read once."""
