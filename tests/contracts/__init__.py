"""The architecture as tests."""
