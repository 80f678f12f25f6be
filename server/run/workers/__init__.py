"""The worker processes that answer calls, and their supervisor."""

COLLECTED = (10_000, 20, 100)  # of gc.set_threshold: a call makes thousands of objects and no cycles; memos stay
