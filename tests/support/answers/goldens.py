"""Golden files: what Python answers, written down for the views to be tested on; `make goldens` writes them anew."""

import json
import os
from typing import Any

from tests.support.books.loads import ROOT

GOLDENS = ROOT / "tests" / "golden"
OF_ONE_LOAD = {"loaded_at": "2026-11-01T06:00:00+00:00", "load_id": "load"}


def held(name: str, value: Any, indent: int | None = None) -> None:
    """Hold a value against its golden file, or write that where GOLDENS=write; `indent` writes a line a member."""
    path = GOLDENS / f"{name}.json"
    if os.environ.get("GOLDENS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        written = json.dumps(value, ensure_ascii=False, indent=indent, separators=(",", ": " if indent else ":"))
        path.write_text(f"{written}\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == value, f"{path.name} differs; `make goldens` writes it anew"


def dated(part: Any) -> Any:
    """Return a part of an answer without what is of one load or version."""
    if isinstance(part, dict):
        return {
            key: OF_ONE_LOAD[key] if key in OF_ONE_LOAD else dated(known)
            for key, known in part.items()
            if not key.endswith("_version")
        }
    return [dated(known) for known in part] if isinstance(part, list) else part
