"""Principals: who a token says is calling."""
