"""Scenario references: base scenarios, shifted views and variances, each with its parts and its arithmetic."""
