"""Tests of running servers, whole stacks, browsers and faults of the machine."""
