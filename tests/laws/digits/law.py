"""The law itself: a source is loaded as `tieout load` does, and each row is looked up in the store."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
from msgspec import Struct

from engine.facts.manifest import pin_current
from engine.instance.read import STORE
from tests.laws.digits.drawn import PLACES, DrawnRow
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance

DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures:
      fine: {places: 9}
      cents: {places: 2}
      rate: {places: 12}
    metrics:
      total: {measure: cents}
"""
DAY = "2026-01-31"
CONNECTION = "LAW_CONNECTION"  # environment variable that says how to connect to what is served


@contextmanager
def nowhere(_: Path) -> Iterator[str]:
    """Serve nothing: the source is a file."""
    yield ""


class Source(Struct, frozen=True, kw_only=True):
    """A kind of source and a type of its columns: how rows are written, and what the feed says of them."""

    write: Callable[[Path, Sequence[DrawnRow]], None]
    feed: Mapping[str, Any]
    source: Mapping[str, Any] | None = None
    holds: Callable[[DrawnRow], bool] = lambda _: True  # rows that the type can hold
    serve: Callable[[Path], AbstractContextManager[str]] = nowhere  # what is written; yields how to connect


class Outcome(Struct, frozen=True):
    """What became of the rows: how many were written, loaded and rejected by name; those that came out wrong."""

    drawn: int
    loaded: int
    rejected: int
    wrong: Sequence[str]


def outcome(folder: Path, source: Source, rows: Sequence[DrawnRow]) -> Outcome:
    """Write rows into a source, load it and compare."""
    chosen = [row for row in rows if source.holds(row)]
    sources = {"erp": source.source} if source.source else {}
    feed = {"source": "erp" if source.source else "files", "target": "live.gl", "unknown_members": "extend"}
    said = {
        **feed,
        "scenario": "actual",
        "rejects": {"allow": {"size": len(chosen), "decimals": len(chosen)}},
        **source.feed,
    }
    instance = write_instance(
        folder / "books",
        facts={},
        domains={"gl": DOMAIN},
        dimensions="account: {kind: leaf}",
        bindings={"gl": said},
        sources=sources,
    )
    source.write(instance / "data", chosen)
    with source.serve(instance / "data") as connection, patch.dict(os.environ, {CONNECTION: connection}):
        (result,) = load_feeds(instance, folder / "state")
    held, rejects = stored(folder / "state"), set(result.rejects["row"].to_list())
    loaded, wrong = 0, []
    for number, row in enumerate(chosen):
        fits = all(map(row.fits, PLACES))
        if (found := held.get(f"A{number}")) is None:
            wrong += [f"{row} is lost"] if fits or not rejects else []
            continue
        loaded += 1
        wrong += [
            f"{row}: {measure} is {found[measure]}" for measure in PLACES if found[measure] != getattr(row, measure)
        ]
    if len(chosen) - loaded != len(rejects):
        wrong.append(f"{len(chosen) - loaded} rows are not there, and {len(rejects)} are rejected")
    return Outcome(len(chosen), loaded, len(rejects), wrong)


def stored(state: Path) -> Mapping[str, Mapping[str, Decimal]]:
    """Return the measures of each account as the store holds them."""
    pin = pin_current(state / STORE)
    root, manifest = state / STORE, pin.manifest
    codes = pl.read_ipc(root / manifest.codes["account"].file).to_series(0).to_list()
    held = {}
    for part in (part for parts in manifest.facts.values() for part in parts):
        frame = pl.read_ipc(root / part.file)
        for row in frame.iter_rows(named=True):
            held[codes[row["account"]]] = {
                measure: Decimal(row[measure] or 0).scaleb(-part.places.get(measure, places))
                for measure, places in PLACES.items()
            }
    pin.drop()
    return held
