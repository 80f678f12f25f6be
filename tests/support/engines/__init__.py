"""Databases, engines and stores behind the books of tests."""
