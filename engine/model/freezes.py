"""Freezes: scenarios as they stood at one version of the books, read under a name of their own such as `actual#sep`."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime

from msgspec import Struct
from msgspec.structs import replace

from engine.model.catalogue import Catalogue
from engine.model.scenarios import FROZEN, Scenario

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
NAME_WORDS = "1 to 32 small letters a to z, digits, _ and -, the first a letter or digit"
STATUS = "frozen"


class Freeze(Struct, frozen=True, kw_only=True):
    """A scenario of one version of the books, which loads do not change."""

    base: str  # the scenario that was frozen
    name: str
    file: str  # of its parts, relative to the root of the store
    frozen_at: datetime
    version: int  # of the books that were frozen
    rows: int
    through: date | None = None  # no row is dated after this day; None: it has all rows, undated ones too
    closed_through: Mapping[str, date] = {}
    cut_at: Mapping[str, date] = {}
    catalogue: str = ""  # the version of the catalogue

    @property
    def id(self) -> str:
        """The id of the scenario that it is read as."""
        return freeze_id(self.base, self.name)

    def scenario(self, base: Scenario) -> Scenario:
        """Return the scenario that it is read as."""
        return Scenario(
            id=self.id,
            alias=f"{base.alias} ({self.name})",
            name=f"{base.name} ({self.name})",
            kind=base.kind,
            status=STATUS,
            closed_through=self.closed_through,
            cut_at=self.cut_at,
            variants=base.variants,
            base=base.id,
            since=self.frozen_at,
        )


def freeze_id(base: str, name: str) -> str:
    """Return the id of the scenario that a freeze is read as."""
    return f"{base}{FROZEN}{name}"


def with_freezes(catalogue: Catalogue, freezes: Iterable[Freeze]) -> Catalogue:
    """Return a catalogue that also has the scenarios of freezes, the oldest first, behind all others."""
    frozen = {
        freeze.id: freeze.scenario(catalogue.scenarios[freeze.base])
        for freeze in sorted(freezes, key=lambda freeze: (freeze.frozen_at, freeze.id))
        if freeze.base in catalogue.scenarios
    }
    return replace(catalogue, scenarios={**catalogue.scenarios, **frozen}) if frozen else catalogue
