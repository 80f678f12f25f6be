"""What rows hold within a permission: read anew after a publish where the rows or the members of it are others."""

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.facts.arrow import ArrowFacts
from engine.facts.backend import identity_of
from engine.facts.manifest import Partition
from engine.instance.read import STORE
from engine.model.profiles import EVERYONE, Grant, Profile
from engine.model.scope import EVERYTHING, Cell, CodeSet, Cut
from server.feeds.instance import read_instance
from tests.support.books.loads import load_feeds, load_instance
from tests.support.books.small import LEDGER, csv, write_instance

FEW, MANY = 4, 40
DIMENSIONS = "product: {kind: leaf, members: live.product}\nregion: {kind: leaf, members: live.region}\n"
NORTH = Profile(key="north", grants=(("*", Grant(dimensions=(Cut("region", ("N",)), Cut("product", ("M1", "M2"))))),))
SOUTH = Profile(key="south", grants=(("*", Grant(dimensions=(Cut("region", ("S",)), Cut("product", ("M1", "M2"))))),))


class LoadedBooks:
    """Books of several domains, each fed by itself, which change."""

    def __init__(self, folder: Path, domains: int) -> None:
        self.instance, self.state = folder / "instance", folder / "state"
        ledger = LEDGER.replace("dimensions: {}", "dimensions: {product: product, region: region}")
        facts = "date scenario product region amount\n2026-01-05 actual M1 N 1\n2026-02-05 actual M2 S 1"
        write_instance(
            self.instance,
            facts={f"gl{at}": facts for at in range(domains)},
            domains={f"gl{at}": ledger.replace("revenue", f"revenue{at}") for at in range(domains)},
            dimensions=DIMENSIONS,
            tables={"product": "id name\nM1 Lamp\nM2 Desk", "region": "id\nN\nS"},
        )
        read = read_instance(self.instance)
        load_instance(self.instance, self.state, read)
        self.shelf = Shelf(read.catalogue, self.state / STORE)

    def load(self, feed: str, rows: str) -> None:
        """Publish other rows of a feed."""
        (self.instance / "data" / f"{feed}.csv").write_text(csv(rows))
        load_feeds(self.instance, self.state, feed)

    def seen(self, profile: Profile, domain: str = "gl0") -> tuple[Any, ...]:
        """Return the days and products of the rows that a profile sees, and the products that it finds."""
        reader = Reader(self.shelf.current(), [profile])
        days = reader.presence(domain, "actual", EVERYTHING).dates
        known = reader._books.leaf("product").member_ids
        codes = reader.codes_with_rows(domain, "actual", "product")
        return days, {known[code] for code in codes}, reader.visible("product")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of questions to the rows about days and codes, by domain."""
    asked = Counter[str]()
    for name in ("codes", "presence"):
        plain = getattr(ArrowFacts, name)

        def counted(self: ArrowFacts, domain: str, *args: Any, plain: Any = plain) -> Any:
            asked[domain] += 1
            return plain(self, domain, *args)

        monkeypatch.setattr(ArrowFacts, name, counted)
    return asked


def test_of_ten_times_the_domains_a_publish_of_one_has_its_own_rows_read(tmp_path: Path, read: Counter[str]) -> None:
    for domains in (FEW, MANY):
        books = LoadedBooks(tmp_path / str(domains), domains)
        books.seen(NORTH)
        assert len(read) == domains
        read.clear()
        books.load("gl1", "date scenario product region amount\n2026-03-05 actual M2 N 1")
        books.seen(NORTH)
        assert set(read) == {"gl1"}
        read.clear()


def test_what_is_kept_is_of_the_rows_and_the_permission_of_now(tmp_path: Path) -> None:
    books = LoadedBooks(tmp_path, 2)
    january, february, march = date(2026, 1, 5), date(2026, 2, 5), date(2026, 3, 5)
    assert books.seen(NORTH) == ((january,), {"M1"}, {"M1"})
    assert books.seen(SOUTH) == ((february,), {"M2"}, {"M2"})
    books.load("gl1", "date scenario product region amount\n2026-03-05 actual M2 N 1")
    assert books.seen(NORTH) == ((january,), {"M1"}, {"M1", "M2"})
    assert books.seen(NORTH, "gl1") == ((march,), {"M2"}, {"M1", "M2"})
    assert books.seen(SOUTH) == ((february,), {"M2"}, {"M2"})
    books.load("gl0", "date scenario product region amount\n2026-03-05 actual M2 N 1\n2026-02-05 actual M1 S 1")
    assert books.seen(NORTH) == ((march,), {"M2"}, {"M2"})
    assert books.seen(SOUTH) == ((february,), {"M1"}, {"M1"})
    books.load("product", "id name\nM1 Lamp\nM2 Table\nM3 Chair")
    assert books.seen(NORTH) == ((march,), {"M2"}, {"M2"})


def test_the_days_that_a_filter_keeps_are_those_of_its_domain(tmp_path: Path) -> None:
    books = LoadedBooks(tmp_path, 2)
    books.load("gl1", "date scenario product region amount\n2026-03-05 actual M2 N 1")
    reader = Reader(books.shelf.current(), [EVERYONE])
    north = Cell.where("region", CodeSet(frozenset(reader.members("region").below("N"))))
    days = [reader.presence(domain, "actual", north).dates for domain in ("gl0", "gl1")]
    assert days == [(date(2026, 1, 5),), (date(2026, 3, 5),)]


def part(file: str, token: str | None = None) -> Partition:
    """Return a partition whose rows are in a file; none if they are in an engine only."""
    return Partition(
        scenario="actual",
        bucket="2026-01",
        file=file,
        rows=1,
        days=(5,),
        magnitudes={},
        load="one",
        token=token,
        id="x",
    )


def test_rows_that_are_elsewhere_or_may_change_have_no_identity() -> None:
    place, parts = ("gl", "actual"), [part("a"), part("b")]
    assert identity_of(place, parts) == identity_of(place, parts[::-1]) != ""
    assert identity_of(place, parts) != identity_of(("gl", "budget"), parts)
    assert identity_of(place, parts) != identity_of(place, parts[:1])
    assert identity_of(place, [*parts, part("c", "surveyed")]) == ""
    assert identity_of(place, [*parts, part("")]) == ""
