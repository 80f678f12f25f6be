"""Answers: a report as the result object that a model reads, within its token budget."""
