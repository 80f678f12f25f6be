"""Freezes of the books: made and given up beside running loads and servers, as versions of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime

from msgspec import Struct

from engine.facts.frozen import DamagedFreeze, read_frozen
from engine.facts.manifest import UNDATED, pin_current
from engine.facts.writer import BooksLocked, Stage
from engine.model.errors import Unavailable
from engine.model.freezes import Freeze
from engine.model.scenarios import Scenario
from server.ingest.folder import BooksFolder
from server.ingest.staging import open_parts, staging


class MadeFreeze(Struct, frozen=True, kw_only=True):
    """A freeze that was made, and the last day with rows of each domain that it holds."""

    freeze: Freeze
    last_days: Mapping[str, date | None]


class FreezeRefused(Exception):
    """A freeze that cannot be made or given up; the message says what can."""


def freezes_in(place: BooksFolder) -> Mapping[str, Freeze]:
    """Return the freezes of the current version by id."""
    pin = pin_current(place.store)
    pin.drop()
    return pin.manifest.frozen


def damage_of(place: BooksFolder, freeze: Freeze) -> str:
    """Return why a freeze cannot be read, an empty text if it can."""
    try:
        read_frozen(place.store, freeze)
    except DamagedFreeze as fault:
        return str(fault)
    return ""


def make_freeze(place: BooksFolder, scenario: Scenario, name: str, through: date | None) -> MadeFreeze:
    """Freeze a scenario of the current version under a name.

    Raises FreezeRefused if the name is taken, and Unavailable if there is nothing to freeze, or if it cannot be frozen.
    """
    freeze = Freeze(
        base=scenario.id,
        name=name,
        file="",
        frozen_at=datetime.now(UTC),
        version=0,
        rows=0,
        through=through,
        closed_through=scenario.closed_through,
        cut_at=scenario.cut_at,
        catalogue=place.catalogue.version,
    )
    with publishing(place) as staged:
        if freeze.id in staged.freezes.by_id:
            namesake = staged.freezes.by_id[freeze.id]
            raise FreezeRefused(
                f"There is a freeze {freeze.id} already, of {namesake.frozen_at:%Y-%m-%d}: take another name, or give "
                f"it up first with tieout freeze --drop {freeze.id}."
            )
        staged.freeze(freeze, place.catalogue.domains)
        published = staged.publish().frozen[freeze.id]
        rows = read_frozen(place.store, published)
    last_days = {
        domain: max((part.dates[-1] for part in parts if part.bucket != UNDATED), default=None)
        for domain, parts in rows.facts.items()
    }
    return MadeFreeze(freeze=published, last_days=last_days)


def drop_freeze(place: BooksFolder, scenario: str) -> None:
    """Give a freeze up. Reports that read it end as they would. Raises FreezeRefused if there is none of this id."""
    with publishing(place) as staged:
        if scenario not in staged.freezes.by_id:
            raise FreezeRefused(f"There is no freeze {scenario} any more; tieout freeze --list lists them.")
        staged.freezes.drop(scenario)
        staged.publish()


@contextmanager
def publishing(place: BooksFolder) -> Iterator[Stage]:
    """Open a stage once others have published. Raises Unavailable if they do not end."""
    with open_parts(place, reached=True) as parts:
        try:
            with staging(place, parts) as staged:
                yield staged
        except BooksLocked as held:
            raise Unavailable(f"Nothing was changed: {held}. Try again when it has ended.") from held
