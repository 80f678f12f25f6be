"""Writes down what looks like a secret and is none: `make secrets`, once somebody has looked at it."""

import json
from collections import defaultdict

from tests.contracts.test_secrets import KNOWN, found


def main() -> None:
    """Write every file with digests of what it holds."""
    listed: dict[str, list[str]] = defaultdict(list)
    for file, digest, line in sorted(set(found())):
        print(f"{file}:{line}")
        listed[file] = sorted({*listed[file], digest})
    KNOWN.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
