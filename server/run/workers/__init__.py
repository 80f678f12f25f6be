"""The worker processes that answer calls, and their supervisor."""
