"""The sandbox: runs untrusted scripts on frames, and returns plain scalars."""
