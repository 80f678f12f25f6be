"""How deep the tests go: as deep as `make test` asks for, or as `make test-deep` does."""

import os

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
SHORT = os.environ.get("HYPOTHESIS_PROFILE", "short") == "short"  # as in `make test`, not as the mutations need it
