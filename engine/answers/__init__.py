"""Answers: reports and rows as the result objects that a model reads, within its token budget."""
