"""The instances of this repository, generated or loaded, against figures computed elsewhere."""
