"""Scope by plain Python: random profiles, what they show of books, and books cut to that."""
