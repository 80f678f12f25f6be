"""The shape of an instance's YAML files."""
