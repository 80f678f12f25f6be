"""An instance folder of YAML files, read into a Catalogue with every fault at once."""
