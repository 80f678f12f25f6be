"""From the models of files to the values of the catalogue; what does not hold together becomes faults."""
