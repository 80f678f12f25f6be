"""The transforms that must work, their frames, and what plain CPython with polars makes of them."""

import datetime as dt
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Script:
    """A case of the corpus."""

    id: str
    code: str
    needs: tuple[str, ...]


LEGIT = [
    Script(case["id"], case["code"], tuple(case["needs"]))
    for case in json.loads((CASES / "legit.json").read_text(encoding="utf-8"))
]


def read_frames() -> dict[str, pl.DataFrame]:
    """Return the frames that cases name in `needs`."""
    listed = json.loads((CASES / "frames.json").read_text(encoding="utf-8"))
    return {
        name: pl.DataFrame([column_of(key, *cells) for key, cells in columns.items()])
        for name, columns in listed.items()
    }


def column_of(name: str, dtype: str, cells: list[Any]) -> pl.Series:
    """Return one column of a frame."""
    read = pl.Series(name, cells, strict=False)
    return read.str.to_date() if dtype == "Date" else read.cast(getattr(pl, dtype))


FRAMES = read_frames()


def frames_of(needs: tuple[str, ...]) -> list[pl.DataFrame]:
    """Return the frames of a case."""
    return [FRAMES[name] for name in needs]


def streamed(frames: list[pl.DataFrame]) -> tuple[bytes, ...]:
    """Return frames as Arrow IPC streams."""
    made = []
    for frame in frames:
        buffer = frame.write_ipc_stream(None)
        made.append(buffer.getvalue())
    return tuple(made)


def plainly(case: Script) -> list[dict[str, Any]]:
    """Return the rows of a case that plain CPython runs with the real polars."""
    frames = frames_of(case.needs)
    names: dict[str, Any] = {"pl": pl, "frames": frames, "df": frames[0]}
    exec(case.code, names)  # noqa: S102 - the oracle: the committed script, unrestricted
    result = names["result"]
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, pl.Series):
        result = result.to_frame()
    if isinstance(result, dict):
        result = [dict(zip(result, row, strict=True)) for row in zip(*result.values(), strict=True)]
    return result.to_dicts() if isinstance(result, pl.DataFrame) else result


def as_told(value: Any) -> Any:
    """Return a value as an outcome tells it."""
    if isinstance(value, (list, tuple)):
        return tuple(as_told(item) for item in value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float):
        return round(value, 9) if math.isfinite(value) else None
    return value


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows in an order of their own: scripts may leave it open."""
    return sorted(repr({key: as_told(row[key]) for key in sorted(row)}) for row in rows)
