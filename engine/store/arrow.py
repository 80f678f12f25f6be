"""Facts in memory-mapped Arrow partitions, pruned before the plan."""
