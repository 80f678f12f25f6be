"""Transfers: files over links that carry no token, given and received."""
