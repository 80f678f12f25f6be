"""Reads an instance folder of YAML files into a Catalogue and reports every fault at once."""
