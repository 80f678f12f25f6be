"""Cuts: restrictions of one dimension, as files and requests write them."""
