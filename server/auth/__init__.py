"""Authentication: bearer tokens and the identity provider that issues them."""
