"""Answers as clients ask for and read them."""
