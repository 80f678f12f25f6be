"""The fact store: immutable Arrow partitions under one manifest."""
