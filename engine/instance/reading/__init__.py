"""Builds the catalogue from the models of the files. Inconsistencies become faults."""
