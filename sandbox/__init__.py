"""The jail: scripts that nobody trusts, run on frames, answered in plain scalars."""
