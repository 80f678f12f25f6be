"""Workers: the processes that answer calls, and the parent that keeps them running."""
