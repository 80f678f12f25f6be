"""Offers: the tools, room by room, as models are told of them."""
