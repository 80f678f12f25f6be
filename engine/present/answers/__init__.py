"""Answers: results as the JSON that a model reads, within a token budget."""
