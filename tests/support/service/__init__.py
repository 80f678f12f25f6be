"""Tieout running in processes of tests: servers, daemons, callers of them, and what disturbs them."""
