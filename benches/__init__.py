"""Benches: one question each, answered side by side with what a user would pick instead."""
