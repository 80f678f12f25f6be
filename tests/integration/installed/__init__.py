"""The wheel and the bundle, installed where this checkout is on no path."""
