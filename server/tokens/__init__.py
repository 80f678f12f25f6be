"""Tokens: from a bearer token to a principal, by the single-user server's key or an identity provider's signature."""
