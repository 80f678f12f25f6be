"""Importing: files taken from hosts on the network, and from nowhere that the operator has not named."""
