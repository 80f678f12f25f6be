"""Freezes in the store: each is one file that never changes, and names the parts that a scenario had.

A version names its freezes, and so it needs the files that they name. No row is copied: parts never change, and stay
for as long as a freeze names them.
"""

from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import polars as pl
from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from engine.facts.files import DIGITS, write_durably
from engine.facts.manifest import Codes, Load, Manifest, Partition, StoredTable
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.freezes import Freeze
from engine.model.members.member_sets import NULL_CODE
from engine.model.scenarios import FROZEN

FOLDER = "frozen"


class FrozenRows(Struct, frozen=True, kw_only=True):
    """What a freeze holds: parts of one scenario, and the members and loads behind them."""

    facts: Mapping[str, tuple[Partition, ...]]  # by domain
    tables: Mapping[str, StoredTable]
    codes: Mapping[str, Codes]
    loads: Mapping[str, Load]

    def files(self) -> Iterator[str]:
        """Yield every file that the freeze needs besides its own."""
        yield from Manifest(version=0, facts=self.facts, tables=self.tables, codes=self.codes, loads={}).files()


class DamagedFreeze(Unavailable):
    """The file of a freeze cannot be read; the message names it in the store."""

    def __init__(self, freeze: Freeze, fault: OSError | ValueError) -> None:
        why = (fault.strerror if isinstance(fault, OSError) else None) or "it is damaged"
        super().__init__(
            f"The freeze {freeze.id} cannot be read: {freeze.file} ({why}). Other scenarios answer. An administrator "
            f"restores the file from a backup, or gives the freeze up with tieout freeze --drop {freeze.id}."
        )


def write_frozen(root: Path, scenario: str, rows: FrozenRows) -> str:
    """Write the file of a freeze durably, and return its name relative to the root."""
    content = encode(rows)
    name = name_of(scenario, content)
    (root / FOLDER).mkdir(exist_ok=True)
    aside = root / f"{name}.new"
    write_durably(aside, content)
    aside.rename(root / name)
    return name


def name_of(scenario: str, content: bytes) -> str:
    """Return the name of the file of a freeze, relative to the root."""
    return f"{FOLDER}/{scenario}-{sha256(content).hexdigest()[:DIGITS]}.json"


def read_frozen(root: Path, freeze: Freeze) -> FrozenRows:
    """Return what a freeze holds. Raises DamagedFreeze."""
    try:
        content = (root / freeze.file).read_bytes()
        rows = decode(content, type=FrozenRows)
    except (OSError, ValueError) as fault:
        raise DamagedFreeze(freeze, fault) from fault
    if name_of(freeze.id, content) != freeze.file:
        raise DamagedFreeze(freeze, ValueError())
    return rows


def frozen_in(root: Path, manifest: Manifest) -> dict[str, FrozenRows]:
    """Return what each freeze of a version holds. Raises DamagedFreeze."""
    return {scenario: read_frozen(root, freeze) for scenario, freeze in manifest.frozen.items()}


def version_files(root: Path, manifest: Manifest) -> set[str]:
    """Return every file that a version needs, those of its freezes included. Raises DamagedFreeze."""
    return {*manifest.files(), *(file for rows in frozen_in(root, manifest).values() for file in rows.files())}


def whole(root: Path, manifest: Manifest) -> Manifest:
    """Return a version with the parts of its freezes beside its own. Raises DamagedFreeze."""
    return with_parts(manifest, frozen_in(root, manifest))


def with_parts(manifest: Manifest, frozen: Mapping[str, FrozenRows]) -> Manifest:
    """Return a version with the parts and loads of some freezes, as parts of the scenarios that they are read as."""
    facts = {domain: list(parts) for domain, parts in manifest.facts.items()}
    loads: dict[str, Load] = {}
    for scenario, rows in frozen.items():
        loads |= rows.loads
        for domain, parts in rows.facts.items():
            facts.setdefault(domain, []).extend(replace(part, scenario=scenario) for part in parts)
    return replace(
        manifest, facts={domain: tuple(parts) for domain, parts in facts.items()}, loads={**loads, **manifest.loads}
    )


# Frozen parts as the domains of today read them.


def fitted(manifest: Manifest, domains: Mapping[str, Domain]) -> Manifest:
    """Return a version whose frozen parts say what a domain of today finds in them."""
    facts = {
        key: tuple(fitted_part(part, domains[key]) if part.scenario in manifest.frozen else part for part in parts)
        for key, parts in manifest.facts.items()
        if key in domains
    }
    return replace(manifest, facts={**manifest.facts, **facts})


def fitted_part(part: Partition, domain: Domain) -> Partition:
    """Return a frozen part in whose rows a dimension or measure that came later has no member and no amount."""
    if not part.columns:  # release 0.3.0 wrote it
        return part
    dimensions = tuple(key for key in domain.dimensions if key not in part.columns)
    measures = tuple(key for key in domain.measures if key not in part.columns)
    scales = {key: 10 ** max(0, places) for key, places in scales_of(part, domain).items()}
    return replace(
        part,
        unassigned=None if part.unassigned is None else (*part.unassigned, *dimensions),
        blanks=(*part.blanks, *measures),
        magnitudes={
            **dict.fromkeys(measures, 0),
            **{key: magnitude * scales.get(key, 1) for key, magnitude in part.magnitudes.items()},
        },
    )


def scales_of(part: Partition, domain: Domain) -> dict[str, int]:
    """Return how many decimal places more a domain has of a measure than a part, where they differ."""
    return {
        key: measure.places - part.places[key]
        for key, measure in domain.measures.items()
        if part.places.get(key, measure.places) != measure.places
    }


def fits(part: Partition, domain: Domain) -> bool:
    """Tell whether a domain reads the rows of a frozen part as they are."""
    is_whole = part.columns and {*domain.dimensions, *domain.measures} <= set(part.columns)
    return bool(is_whole) and not scales_of(part, domain)


def refuse_unfitted(part: Partition, domain: Domain, lacking: Collection[str]) -> None:
    """Raise Unavailable if the domain would have to fit a frozen part whose rows an engine holds.

    `lacking` are the columns that are read and that the part has not.
    """
    if FROZEN in part.scenario and (lacking or scales_of(part, domain)):
        raise Unavailable(
            f"An engine holds the rows of {part.scenario} as they were frozen, and {domain.key} has other columns or "
            "decimal places now. An administrator sets `keep_here: everything` and runs tieout provision: files answer "
            "then."
        )


def fitted_rows(frame: pl.DataFrame, part: Partition, domain: Domain) -> pl.DataFrame:
    """Return the rows of a frozen part, or their sums, with the columns and decimal places of its domain.

    Raises Unavailable if the domain has fewer places than an amount needs, or if an amount becomes too large.
    """
    scaled = [
        scaled_amounts(frame[key], places, part, domain)
        for key, places in scales_of(part, domain).items()
        if key in frame.columns
    ]
    columns = part.columns or frame.columns
    lacking = [pl.lit(NULL_CODE, pl.UInt8).alias(key) for key in domain.dimensions if key not in columns]
    blank = [pl.lit(None, pl.Int64).alias(key) for key in domain.measures if key not in frame.columns]
    return frame.with_columns(*scaled, *lacking, *blank)


def scaled_amounts(amounts: pl.Series, places: int, part: Partition, domain: Domain) -> pl.Series:
    """Return amounts with so many decimal places more, or fewer."""
    exact, factor = pl.col(amounts.name).cast(pl.Int128), pl.lit(10 ** abs(places), pl.Int128)
    rows = amounts.to_frame()
    if places < 0 and rows.select((exact % factor != 0).any()).item():
        frozen_places = part.places[amounts.name]
        raise Unavailable(
            f"{amounts.name} of {domain.key} was frozen in {part.scenario} to {frozen_places} decimal places and the "
            f"catalogue now says {frozen_places + places}, which loses digits of it; an administrator says "
            f"{frozen_places} places again and loads the feeds of the domain."
        )
    try:
        scaled = rows.select((exact * factor if places > 0 else exact // factor).cast(pl.Int64))
    except pl.exceptions.InvalidOperationError:
        raise Unavailable(
            f"{amounts.name} of {domain.key} was frozen in {part.scenario} to {part.places[amounts.name]} decimal "
            "places and the catalogue now says more than its largest amounts have room for; say fewer."
        ) from None
    return scaled.to_series()
