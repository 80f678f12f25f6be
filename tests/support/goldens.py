"""Golden files: what Python answers, written down for the views to be tested on; `make goldens` writes them anew."""

import json
import os
from typing import Any

from tests.support.books import ROOT

GOLDENS = ROOT / "tests" / "golden"


def held(name: str, value: Any) -> None:
    """Hold a value against its golden file, or write that where GOLDENS=write."""
    path = GOLDENS / f"{name}.json"
    if os.environ.get("GOLDENS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == value, f"{path.name} differs; `make goldens` writes it anew"
