"""Embedded: PostgreSQL and Valkey out of wheels, kept running as children of this process."""
