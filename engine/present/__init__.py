"""Presentation: a report as JSON, chart, file and widget block."""
