"""The law of merged loads: merging small partitions changes no answer, whoever asks and whatever was loaded before.

Random loads of two feeds are published twice, into books that merge as soon as two partitions are alike and into books
that never merge. After each step random profiles see the same loads on the same days in both, the same rows in the
same order, figures, freshness, members and digests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door, open_books
from engine.facts import merging
from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import Load, pin_current
from engine.facts.writer import stage
from engine.instance.read import STORE, read_instance
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Refusal
from tests.support.answers.reader import answer
from tests.support.books.small import write_instance

FIRST = date(2021, 1, 1)
DAYS = 70  # of three months
PRODUCTS, REGIONS = ("A", "B", "C", None), ("x", "y", None)
DOMAIN = """
time: {column: date, missing: keep}
dimensions: {product: product, region: region}
measures: {amount: {places: 2}}
inspect_enabled: true
inspect_columns: [date, amount, text]
metrics:
  revenue: {measure: amount}
  balance: {measure: amount, over_time: closing}
  lines: {over_members: count}
"""
NEVER, ALWAYS = 10**9, 2  # partitions that are merged
BUDGET = 10**6
Row = tuple[int | None, str, str | None, str | None, int, str]


@dataclass(frozen=True)
class LoadStep:
    """One publication of a feed, or that it is forgotten."""

    feed: str
    mode: LoadMode | None  # None: forget it
    rows: tuple[Row, ...]
    days: tuple[int, int]


rows = st.tuples(
    st.none() | st.integers(0, DAYS - 1),
    st.sampled_from(("actual", "actual", "budget")),
    st.sampled_from(PRODUCTS),
    st.sampled_from(REGIONS),
    st.integers(-3, 3),
    st.sampled_from(("t", "u")),
)
steps = st.builds(
    LoadStep,
    feed=st.sampled_from(("gl", "gl", "other")),
    mode=st.sampled_from((*[LoadMode.APPEND] * 6, LoadMode.REPLACE_PERIODS, LoadMode.REPLACE_PERIODS, None)),
    rows=st.lists(rows, min_size=1, max_size=6).map(tuple),
    days=st.tuples(st.integers(0, DAYS - 1), st.integers(0, DAYS - 1)).map(lambda pair: (min(pair), max(pair))),
)
cuts = st.fixed_dictionaries(
    {},
    optional={
        "product": st.sets(st.sampled_from(PRODUCTS[:-1]), min_size=1, max_size=2).map(sorted),
        "region": st.sets(st.sampled_from(REGIONS[:-1]), min_size=1, max_size=2).map(sorted),
    },
)


def instance_of(folder: Path, allowed: list[dict[str, list[str]]]) -> Path:
    """Write an instance with one profile for each cut."""
    grants = [{"dimensions": {key: {"allow": ids} for key, ids in cut.items()}} for cut in allowed]
    profiles = {f"p{at}": {"scenarios": {"actual": grant, "budget": grant}} for at, grant in enumerate(grants)}
    return write_instance(
        folder,
        facts={"gl": "date scenario product region amount text"},
        domains={"gl": DOMAIN},
        dimensions="product: {kind: leaf}\nregion: {kind: leaf}",
        profiles=yaml.safe_dump(profiles),
    )


def publish(root: Path, domain: Domain, step: LoadStep, at: int) -> None:
    """Publish a step."""
    schema = {"date": pl.Int64, "scenario": pl.String, "product": pl.String, "region": pl.String}
    frame = pl.DataFrame([*step.rows], schema={**schema, "amount": pl.Int64, "text": pl.String}, orient="row")
    dated = frame.with_columns((pl.lit(FIRST) + pl.duration(days=pl.col("date"))).cast(pl.Date).alias("date"))
    span = Span(*(FIRST + timedelta(days=day) for day in step.days))
    with stage(root) as staged, TemporaryDirectory() as folder:
        if step.mode is None:
            staged.forget(step.feed)
        else:
            landing = Landing(Path(folder), domain)
            landing.add(
                dated
                if step.mode is LoadMode.APPEND
                else dated.filter(pl.col("date").is_between(span.first, span.last))
            )
            load = Load(id=f"{step.feed}-{at}", binding=step.feed, loaded_at=datetime(2026, 1, 1, at, tzinfo=UTC))
            staged.facts(domain, landing, load, step.mode, span if step.mode is LoadMode.REPLACE_PERIODS else None)
        staged.publish()


@contextmanager
def merging_after(fanout: int) -> Iterator[None]:
    """Merge as soon as so many partitions are alike, few at once, so that merged ones are merged again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FANOUT", fanout)
        patch.setattr(merging, "MAX_MERGED", 3)
        yield


def answers(folder: Path, state: Path, profile: str | None) -> Iterator[object]:
    """Yield what a profile is told of the books, in whole."""
    door = open_books(folder, state=state, profile=profile)
    reader = door.reader
    yield reader.data_version
    for scenario in ("actual", "budget"):
        yield [(load.load, load.at, sorted(load.days)) for load in reader.loads("gl", scenario)]
        for asked in asks(scenario):
            yield told(lambda asked: answer(door.metric("revenue", "balance", "lines", **asked), BUDGET), asked)
        for columns, limit in product((["date", "amount", "text"], ["amount"], None), (2, None)):
            yield told(lambda asked: rows_of(door, **asked), {"scenario": scenario, "columns": columns, "limit": limit})


def rows_of(door: Door, **asked: Any) -> object:
    """Return rows in their order, and what is said of them."""
    found = door.rows("gl", **asked)
    return found.rows, found.contribution_total, found.notes


def told(ask: Callable[[dict[str, Any]], object], asked: dict[str, Any]) -> object:
    """Return an answer, or the words of a refusal."""
    try:
        return ask(asked)
    except Refusal as refusal:
        return str(refusal)


def asks(scenario: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of some reports of a scenario."""
    for period in ("2021-01", "2021-02-03", ("2021-01", "2021-03")):
        for dimensions in ((), ("product",), ("region", "month")):
            yield {"scenarios": {"S": scenario}, "period": period, "dimensions": dimensions}


@given(st.lists(steps, min_size=2, max_size=10), st.lists(cuts, min_size=1, max_size=2))
def test_merging_changes_no_answer(taken: list[LoadStep], allowed: list[dict[str, list[str]]]) -> None:
    with TemporaryDirectory() as home:
        folder = instance_of(Path(home) / "books", allowed)
        domain = read_instance(folder).catalogue.domains["gl"]
        states = {fanout: Path(home) / str(fanout) for fanout in (NEVER, ALWAYS)}
        for at, step in enumerate(taken):
            for fanout, state in states.items():
                with merging_after(fanout):
                    publish(state / STORE, domain, step, at)
            for profile in (None, *(f"p{place}" for place in range(len(allowed)))):
                plain, merged = ([*answers(folder, state, profile)] for state in states.values())
                assert plain == merged, (profile, step)
        kept = {fanout: pin_current(state / STORE).manifest for fanout, state in states.items()}
        assert not any(part.merged for parts in kept[NEVER].facts.values() for part in parts)
        assert {*kept[NEVER].loads} == {*kept[ALWAYS].loads}
