"""Exports: results as XLSX and JSON files."""
