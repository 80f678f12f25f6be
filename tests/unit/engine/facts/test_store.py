"""The fact store: three questions against plain Python, and versions that appear whole, stay while read and go.

The questions are asked of every implementation in STORES.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from engine.facts import arrow
from engine.facts.arrow import ArrowFacts
from engine.facts.files import MappedFiles
from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import Load, Manifest, Pin, current_version, pin_current
from engine.facts.writer import BooksLocked, stage
from engine.model.calendar.periods import WITHOUT_DATE, Grain, Span
from engine.model.catalogue import Domain, Measure
from engine.model.fact_store import ROWS, SPAN, Aggregate, AggregateFunction, FactStore, Presence, RowSlice, Slice
from engine.model.formulas import FigureKind
from engine.model.scope import EVERYTHING, NOTHING, AmountRange, Cell, CodeSet, Conjunction
from tests.support.engines.attached_tables import ATTACHABLE, attached_facts
from tests.support.engines.warehouses import ENGINES, facts_in_engine

AMOUNT = (Aggregate("amount"),)
GL = Domain(
    key="gl",
    label="GL",
    table="live.gl",
    scenario_column="scenario",
    time_column="date",
    grain=Grain.DATE,
    grains=frozenset(Grain),
    keeps_undated=True,
    sort=("account", "centre"),
    dimensions={"account": "account", "centre": "centre"},
    measures={"amount": Measure(key="amount", column="amount", kind=FigureKind.MONEY, places=2)},
    stock_groups={},
    inspect_enabled=True,
    inspect_columns=("text",),
    rollups=(),
)
FIRST = date(2021, 1, 1)


def arrow_facts(root: Path, manifest: Manifest, domains: dict[str, Domain]) -> ArrowFacts:
    """Return the facts of the Arrow store."""
    return ArrowFacts(MappedFiles(root), manifest, domains)


LOADED: dict[str, Callable[[Path, Manifest, dict[str, Domain]], FactStore]] = {
    "arrow": arrow_facts,
    **{engine: facts_in_engine(engine) for engine in ENGINES},
}
STORES = {**LOADED, **{f"attached in {engine}": attached_facts(engine) for engine in ATTACHABLE if engine != "duckdb"}}
every_store = pytest.mark.parametrize("kind", STORES)
every_loaded_store = pytest.mark.parametrize("kind", LOADED)  # a scenario of several loads lies in no attached table
pytestmark = pytest.mark.usefixtures("stores_in_warehouses", "attached_stores")
Fact = tuple[str, date | None, str | None, str | None, int, str]


def facts_of(seed: int, count: int = 400) -> list[Fact]:
    """Return some random facts."""
    made = random.Random(seed)
    return [
        (
            made.choice(("actual", "budget")),
            None if made.random() < 0.02 else FIRST + timedelta(days=made.randrange(120)),
            made.choice(("A", "B", "C", "D", None)),
            made.choice(("x", "y", "z", None)),
            made.randrange(-1000, 1000),
            f"row {number}",
        )
        for number in range(count)
    ]


def frame_of(facts: Iterable[Fact]) -> pl.DataFrame:
    """Return facts as the writer takes them."""
    schema = {
        "scenario": pl.String,
        "date": pl.Date,
        "account": pl.String,
        "centre": pl.String,
        "amount": pl.Int64,
        "text": pl.String,
    }
    return pl.DataFrame(list(facts), schema=schema, orient="row")


def load_of(binding: str = "gl", at: int = 0) -> Load:
    """Return a load of its own."""
    return Load(id=f"load-{binding}-{at}", binding=binding, loaded_at=datetime(2026, 1, 1, at, tzinfo=UTC))


def landing_of(folder: Path, *pieces: Iterable[Fact]) -> Landing:
    """Return facts that arrived piece by piece."""
    landing = Landing(folder, GL)
    for piece in pieces:
        landing.add(frame_of(piece))
    return landing


def publish(root: Path, facts: Iterable[Fact], load: Load, **how: Any) -> int:
    """Publish facts as one load and return how many landed."""
    with stage(root) as staged, TemporaryDirectory() as folder:
        landed = staged.facts(GL, landing_of(Path(folder), facts), load, **how)
        staged.publish()
    return landed


def opened(root: Path, kind: str = "arrow") -> tuple[Pin, FactStore, dict[str, dict[str | None, int]]]:
    """Open the current version: its pin, its facts in a store of some kind, and the code of every id."""
    pin = pin_current(root)
    ids = {key: pl.read_ipc(root / codes.file)["id"].to_list() for key, codes in pin.manifest.codes.items()}
    codes = {key: {None if not at else member: at for at, member in enumerate(known)} for key, known in ids.items()}
    return pin, STORES[kind](root, pin.manifest, {"gl": GL}), codes


SPANS = (
    Span(FIRST, date(2021, 1, 31)),
    Span(date(2021, 2, 10), date(2021, 2, 12)),
    Span(date(2021, 2, 20), date(2021, 4, 9)),
)


@every_store
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keys", [(), ("account",), ("centre", "account")])
def test_sums_are_those_of_plain_python(tmp_path: Path, kind: str, seed: int, keys: tuple[str, ...]) -> None:
    facts = facts_of(seed)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    for cell, allowed in cells(codes):
        expected: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0])
        for scenario, day, account, centre, amount, _ in facts:
            at = next((place for place, span in enumerate(SPANS) if day and span.holds(day)), None)
            at = len(SPANS) if day is None else at
            if scenario == "actual" and at is not None and allowed(account, centre):
                group = {"account": codes["account"][account], "centre": codes["centre"][centre]}
                held = expected[(at, *(group[key] for key in keys))]
                held[0] += amount
                held[1] += 1
        asked = Slice(domain="gl", scenario="actual", spans=(*SPANS, WITHOUT_DATE), keys=keys, aggregates=AMOUNT)
        found = store.sums(asked, cell).collect()
        assert found.columns == [SPAN, *keys, "amount", ROWS]
        summed = found.group_by(SPAN, *keys).agg(pl.col("amount").sum(), pl.col(ROWS).sum())
        width = 1 + len(keys)
        assert {row[:width]: list(row[width:]) for row in summed.iter_rows()} == dict(expected)


def cells(codes: dict[str, dict[str | None, int]]) -> list[tuple[Cell, Callable[[str | None, str | None], bool]]]:
    """Return cells, each with what it allows in words."""
    some = CodeSet(frozenset({codes["account"]["A"], codes["account"]["C"]}))
    no_x = CodeSet(frozenset({codes["centre"]["x"]}), complement=True)
    either = Cell.of([Conjunction.of({"account": some}), Conjunction.of({"centre": no_x})])
    return [
        (EVERYTHING, lambda _account, _centre: True),
        (NOTHING, lambda _account, _centre: False),
        (Cell.where("account", some), lambda account, _centre: account in ("A", "C")),
        (Cell.where("centre", no_x), lambda _account, centre: centre != "x"),
        (either, lambda account, centre: account in ("A", "C") or centre != "x"),
        (
            Cell.where("account", some) & Cell.where("centre", no_x),
            lambda account, centre: account in ("A", "C") and centre != "x",
        ),
    ]


RANGES: tuple[tuple[AmountRange, Callable[[int], bool]], ...] = (
    (AmountRange("amount", -(2**63), -1), lambda amount: amount < 0),
    (AmountRange("amount", -100, 250), lambda amount: -100 <= amount <= 250),
    (AmountRange("amount", -100, 250, complement=True), lambda amount: not -100 <= amount <= 250),
)


@every_store
@pytest.mark.parametrize("place", range(len(RANGES)))
def test_a_range_of_amounts_restricts_rows_before_they_are_summed(tmp_path: Path, kind: str, place: int) -> None:
    facts, (known, meets) = facts_of(7), RANGES[place]
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    some = CodeSet(frozenset({codes["account"]["A"], codes["account"]["C"]}))
    either = Cell.of([Conjunction.of({"account": some}), Conjunction.of({}, [known])])
    both = Cell.of([Conjunction.of({"account": some}, [known])])
    cases: tuple[tuple[Cell, Callable[[str, int], bool]], ...] = (
        (Cell.of([Conjunction.of({}, [known])]), lambda _account, amount: meets(amount)),
        (both, lambda account, amount: account in "AC" and meets(amount)),
        (either, lambda account, amount: account in "AC" or meets(amount)),
    )
    for cell, allowed in cases:
        mine = [fact for fact in facts if fact[0] == "actual" and fact[1] and allowed(fact[2] or "-", fact[4])]
        spans = (Span(FIRST, date(2021, 12, 31)),)
        asked = Slice(domain="gl", scenario="actual", spans=spans, keys=(), aggregates=AMOUNT)
        summed = store.sums(asked, cell).collect()
        assert (summed["amount"].sum(), summed[ROWS].sum()) == (sum(fact[4] for fact in mine), len(mine))
        rows = RowSlice(domain="gl", scenario="actual", span=asked.spans[0], columns=("text",))
        assert set(store.rows(rows, cell).collect()["text"]) == {fact[5] for fact in mine}
        presence = store.presence("gl", "actual", cell)
        assert set(presence.dates) == {fact[1] for fact in mine}
        assert store.codes("gl", "actual", "account", cell) >= {codes["account"][fact[2]] for fact in mine}


@every_store
@pytest.mark.parametrize("seed", range(2))
def test_presence_and_rows_are_those_of_plain_python(tmp_path: Path, kind: str, seed: int) -> None:
    facts = facts_of(seed)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    span = Span(date(2021, 1, 20), date(2021, 3, 5))
    for cell, allowed in cells(codes):
        mine = [fact for fact in facts if fact[0] == "budget" and allowed(fact[2], fact[3])]
        presence = store.presence("gl", "budget", cell)
        days = sorted({day for _, day, *_ in mine if day})
        assert list(presence.days(span)) == [day for day in days if span.holds(day)]
        assert presence.last(span) == max((day for day in days if span.holds(day)), default=None)
        assert presence.through == max(days, default=None)
        assert presence.undated == sum(day is None for _, day, *_ in mine)
        of_load = store.presence_of_loads("gl", "budget", cell, ["load-gl-0"]).get("load-gl-0", Presence((), 0))
        assert (of_load.dates, of_load.undated) == (presence.dates, presence.undated)  # the only load
        assert (presence.holds(WITHOUT_DATE), [*presence.days(WITHOUT_DATE)]) == (presence.undated > 0, [])
        without = RowSlice(domain="gl", scenario="budget", span=WITHOUT_DATE, columns=("date", "text"))
        texts = sorted(fact[5] for fact in mine if fact[1] is None)
        assert sorted(store.rows(without, cell).collect().rows()) == [(None, text) for text in texts]
        assert store.codes("gl", "budget", "account", cell) == {codes["account"][fact[2]] for fact in mine}
        asked = RowSlice(domain="gl", scenario="budget", span=span, columns=("date", "amount", "text"), limit=7)
        order = sorted(
            (fact for fact in mine if fact[1] and span.holds(fact[1])),
            key=lambda fact: (str(fact[1])[:7], codes["account"][fact[2]], codes["centre"][fact[3]], fact[1]),
        )
        rows = store.rows(asked, cell).collect().rows()
        assert rows == [(day, amount, text) for _, day, _, _, amount, text in order[:7]]


@every_store
def test_minima_maxima_and_counts_are_those_of_plain_python(tmp_path: Path, kind: str) -> None:
    facts = facts_of(3)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    least, most = Aggregate("amount", AggregateFunction.MIN), Aggregate("amount", AggregateFunction.MAX)
    asked = Slice(domain="gl", scenario="actual", spans=SPANS[:1], keys=("account",), aggregates=(least, most))
    amounts: dict[int, list[int]] = defaultdict(list)
    for scenario, day, account, _, amount, _ in facts:
        if scenario == "actual" and day and SPANS[0].holds(day):
            amounts[codes["account"][account]].append(amount)
    found = store.sums(asked, EVERYTHING).collect()
    assert {row[1]: row[2:] for row in found.iter_rows()} == {
        account: (min(each), max(each), len(each)) for account, each in amounts.items()
    }


@every_loaded_store
def test_a_limit_takes_the_first_rows_and_those_without_a_date_come_last(tmp_path: Path, kind: str) -> None:
    facts: list[Fact] = [
        ("actual", None, "A", "x", 6, ""),
        ("actual", date(2021, 2, 1), "A", "x", 5, ""),
        ("actual", date(2021, 1, 31), "A", "x", 2, ""),
        ("actual", date(2021, 1, 1), "B", None, 3, ""),
        ("actual", date(2021, 1, 2), "A", "x", 1, ""),
    ]
    publish(tmp_path, facts, load_of("one"))
    publish(tmp_path, [("actual", date(2021, 1, 9), "B", "x", 4, "")], load_of("two", 1))
    _, store, _ = opened(tmp_path, kind)
    for limit in (None, *range(8)):
        asked = RowSlice(domain="gl", scenario="actual", span=None, columns=("amount", "centre"), limit=limit)
        rows = store.rows(asked, EVERYTHING).collect()
        assert rows["amount"].to_list() == [1, 2, 3, 4, 5, 6][:limit]
        assert rows.schema == store.rows(replace(asked, scenario="none"), EVERYTHING).collect().schema
        free = store.rows(replace(asked, is_ordered=False), EVERYTHING).collect()
        assert len(set(free["amount"]) & {1, 2, 3, 4, 5, 6}) == min(6 if limit is None else limit, 6)


@every_loaded_store
def test_ranks_order_the_members_of_rows(tmp_path: Path, kind: str) -> None:
    late: list[Fact] = [("actual", FIRST, "C", "x", 3, ""), ("actual", FIRST, None, "x", 0, "")]
    publish(tmp_path, late, load_of("one"))
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, ""), ("actual", FIRST, "B", "x", 2, "")], load_of("two", 1))
    _, store, codes = opened(tmp_path, kind)
    ranks = {"account": pl.Series([{None: 0, "A": 1, "B": 2, "C": 3}[member] for member in codes["account"]])}
    asked = RowSlice(domain="gl", scenario="actual", span=None, columns=("account", "amount"))
    assert store.rows(asked, EVERYTHING).collect()["amount"].to_list() == [0, 3, 1, 2]  # as the codes were given
    for limit in (None, *range(5)):
        rows = store.rows(replace(asked, limit=limit, ranks=ranks), EVERYTHING).collect()
        assert rows["amount"].to_list() == [0, 1, 2, 3][:limit]
        assert rows["account"].to_list() == [codes["account"][member] for member in (None, "A", "B", "C")][:limit]


@every_loaded_store
def test_presence_names_leaves_without_a_member_and_the_loads_of_rows_that_are_seen(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, [("actual", FIRST, "A", None, 1, "")], load_of("one"))
    publish(tmp_path, [("actual", FIRST, "B", "x", 1, "")], load_of("two", 1))
    _, store, codes = opened(tmp_path, kind)
    of_b = Cell.where("account", CodeSet(frozenset({codes["account"]["B"]})))
    for cell, unassigned, loads in ((EVERYTHING, {"centre"}, [True, True]), (of_b, set(), [False, True])):
        assert store.unassigned("gl", "actual", ["account", "centre"], cell) == unassigned
        names = ("load-one-0", "load-two-1", "nothing")
        brought = store.presence_of_loads("gl", "actual", cell, names)
        assert [load in brought and brought[load].dates == (FIRST,) for load in names] == [*loads, False]


@pytest.mark.parametrize(("together", "frames"), [(arrow.JOINED_ROWS, 1), (0, 4)])
def test_a_filter_stands_between_every_frame_and_its_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int, frames: int
) -> None:
    """Four months are read as one frame, or one by one where they are large."""
    monkeypatch.setattr(arrow, "JOINED_ROWS", together)
    publish(tmp_path, facts_of(1), load_of())
    _, store, codes = opened(tmp_path)
    asked = Slice(
        domain="gl",
        scenario="actual",
        spans=(Span(FIRST, date(2021, 4, 30)),),
        keys=("account",),
        aggregates=AMOUNT,
    )
    restricted = store.sums(asked, Cell.where("centre", CodeSet(frozenset({codes["centre"]["x"]})))).explain()
    parts = restricted.split("PLAN ")[1:] or [restricted]
    assert [part.count("DF [") for part in parts] == [1] * frames
    assert all(re.search(r"AGGREGATE.*FILTER.*centre.*DF \[", part, re.DOTALL) for part in parts), restricted
    assert "FILTER" not in store.sums(asked, EVERYTHING).explain()
    assert "AGGREGATE" not in store.sums(asked, NOTHING).explain()


@every_store
@pytest.mark.parametrize("spans", [SPANS, (Span(FIRST, date(2021, 4, 30)),)])
def test_rows_are_counted_without_keys_and_measures(tmp_path: Path, kind: str, spans: tuple[Span, ...]) -> None:
    facts = facts_of(2)
    publish(tmp_path, facts, load_of())
    _, store, _ = opened(tmp_path, kind)
    asked = Slice(domain="gl", scenario="actual", spans=spans, keys=(), aggregates=())
    found = store.sums(asked, EVERYTHING).collect().group_by(SPAN).sum()
    counted = Counter(
        position
        for scenario, day, *_ in facts
        for position, span in enumerate(spans)
        if scenario == "actual" and day and span.holds(day)
    )
    assert dict(found.select(SPAN, ROWS).iter_rows()) == counted


@every_store
def test_sums_past_sixty_three_bits_are_exact(tmp_path: Path, kind: str) -> None:
    huge = 2**62
    facts: list[Fact] = [("actual", FIRST, "A", "x", huge, "")] * 5
    publish(tmp_path, facts, load_of())
    _, store, _ = opened(tmp_path, kind)
    asked = Slice(
        domain="gl",
        scenario="actual",
        spans=(Span(FIRST, FIRST),),
        keys=("account",),
        aggregates=AMOUNT,
    )
    assert store.sums(asked, EVERYTHING).collect()["amount"].to_list() == [5 * huge]


@every_loaded_store
def test_codes_outgrow_their_width_and_older_partitions_follow(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load_of("old"))
    many: list[Fact] = [("actual", FIRST, f"K{at:04}", "x", 1, "") for at in range(400)]
    publish(tmp_path, many, load_of("new", 1))
    _, store, codes = opened(tmp_path, kind)
    asked = Slice(
        domain="gl",
        scenario="actual",
        spans=(Span(FIRST, FIRST),),
        keys=("account",),
        aggregates=AMOUNT,
    )
    found = dict(store.sums(asked, EVERYTHING).select("account", "amount").collect().iter_rows())
    assert found == {codes["account"][member]: 1 for member in ("A", *(fact[2] for fact in many))}
    assert codes["account"]["A"] == 1  # codes are never given anew


@every_store
def test_another_sort_in_the_file_of_the_domain_leaves_the_rows_that_are_loaded_as_they_are(
    tmp_path: Path, kind: str
) -> None:
    facts = facts_of(1)
    publish(tmp_path, facts, load_of())
    resorted = replace(GL, sort=("centre", "account"))
    gone, left = Span(FIRST, date(2021, 1, 15)), Span(date(2021, 1, 16), date(2021, 1, 31))
    with stage(tmp_path) as staged, TemporaryDirectory() as folder:
        staged.facts(resorted, Landing(Path(folder), resorted), load_of(at=1), LoadMode.REPLACE_PERIODS, gone)
        staged.publish()
    pin, _, codes = opened(tmp_path)
    store = STORES[kind](tmp_path, pin.manifest, {"gl": resorted})
    asked = Slice(domain="gl", scenario="actual", spans=(Span(FIRST, left.last),), keys=(), aggregates=AMOUNT)
    mine = [fact for fact in facts if fact[0] == "actual" and fact[1] and left.holds(fact[1])]
    for centre, code in codes["centre"].items():
        found = store.sums(asked, Cell.where("centre", CodeSet(frozenset({code})))).collect()
        assert found["amount"].to_list() == [sum(fact[4] for fact in mine if fact[3] == centre)]


@every_store
def test_a_reader_keeps_its_version_while_newer_ones_are_published(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load_of(at=0))
    pin, store, _ = opened(tmp_path, kind)  # nothing is mapped yet
    for at in range(1, 4):
        publish(tmp_path, [("actual", FIRST, "A", "x", 10**at, "")], load_of(at=at))
    assert total(store) == 1
    files = set(pin.manifest.files())
    assert all((tmp_path / file).is_file() for file in files)
    pin.drop()
    publish(tmp_path, [("actual", FIRST, "A", "x", 5, "")], load_of(at=4))
    assert not any((tmp_path / file).is_file() for file in files if file.startswith("facts"))
    assert len(list((tmp_path / "manifests").iterdir())) == 1
    assert total(opened(tmp_path, kind)[1]) == 5


def total(store: FactStore) -> int:
    """Return everything of a scenario."""
    asked = Slice(domain="gl", scenario="actual", spans=(Span(date.min, date.max),), keys=(), aggregates=AMOUNT)
    return int(store.sums(asked, EVERYTHING).collect()["amount"].sum())


def test_a_stage_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load_of(at=0))
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(ValueError, match=r"ordinal|year"), stage(tmp_path) as staged:
        staged.facts(GL, landing_of(tmp_path / "facts", facts_of(3)), load_of(at=1))
        date.fromordinal(10**9)  # whatever goes wrong after files were written
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    assert current_version(tmp_path) == 1


def test_one_load_at_a_time(tmp_path: Path) -> None:
    with stage(tmp_path), pytest.raises(BooksLocked, match="another load is publishing"), stage(tmp_path):
        pass


@every_loaded_store
def test_a_binding_replaces_what_it_brought_and_nothing_else(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load_of("one", 0))
    publish(tmp_path, [("actual", FIRST, "A", "x", 10, "")], load_of("two", 1))
    publish(tmp_path, [("actual", FIRST, "B", "x", 100, "")], load_of("one", 2))
    assert total(opened(tmp_path, kind)[1]) == 110
