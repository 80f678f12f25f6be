"""Staging and publishing: new partitions written aside, then made current by one rename."""
