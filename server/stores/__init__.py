"""Stores: where the service keeps what is not facts: PostgreSQL, Redis or Valkey, the disk."""
