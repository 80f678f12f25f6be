"""Formulas over figures: their grammar, their types and their rules for nothing."""
