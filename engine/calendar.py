"""Grains, periods, ranges and spans: which days a period code means."""
