"""How deep the tests go: as deep as `make test` asks for, or as `make test-deep` does."""

import os

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
