"""Telemetry: logs, the audit line of each call, metrics and traces."""
