"""How deep the tests go: as deep as `make test` and `make test-all` ask for, or as `make test-deep` does."""

import os

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
SHORT = os.environ.get("HYPOTHESIS_PROFILE", "short") in ("short", "whole")  # not as the mutations need it
