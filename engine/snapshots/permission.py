"""Whether a snapshot may still be opened, and whether newer data was loaded since: its permission against a reader."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.cuts import Cut, Cuts
from engine.notes import Note
from engine.reader import Reader
from engine.report.permission import Permission, counted
from engine.scope import ALL_CODES, Allowed, Cell, CodeSet
from engine.snapshots.values import as_json, decoders

FIELDS = decoders(Permission)


def permission_json(permission: Permission) -> Mapping[str, Any]:
    """Return a permission as JSON, to be held against readers later."""
    return dict(as_json(permission))


def permission_from(data: Mapping[str, Any]) -> Permission | None:
    """Return the permission that JSON says, None where another release wrote it."""
    try:
        return Permission(**{name: decode(data[name]) for name, decode in FIELDS.items()})
    except (KeyError, TypeError, ValueError):
        return None


def still_allows(permission: Permission, reader: Reader) -> bool:
    """Tell whether a reader may see all that a report was cut to, and every name in it."""
    return (
        permission.books == reader.catalogue.name
        and reader.domains.keys() >= set(permission.domains)
        and reader.scenarios.keys() >= set(permission.scenarios)
        and still_contains(permission, reader)
        and all(cut.dimension in reader.dimensions and sees(cut, reader) for cut in permission.nodes)
    )


def sees(cut: Cut, reader: Reader) -> bool:
    """Tell whether a reader sees every node of a cut."""
    return all(reader.sees(cut.dimension, node) for node in cut.ids)


def still_contains(permission: Permission, reader: Reader) -> bool:
    """Tell whether what a reader may see of all that a report read contains what the report was cut to."""
    cells = [present_cell(cell, permission, reader) for cell in permission.cells]
    return all(
        reader.cell(granted.scenario, granted.domain).contains(cells[granted.cell]) for granted in permission.granted
    )


def present_cell(cell: Iterable[Cuts], permission: Permission, reader: Reader) -> Cell:
    """Return a cell that a report was cut to, on present members."""
    return Cell.of(Allowed.of({cut.dimension: present_codes(cut, permission, reader) for cut in cuts}) for cuts in cell)


def present_codes(cut: Cut, permission: Permission, reader: Reader) -> CodeSet:
    """Return the codes of what a cut of a leaf dimension left, of the members that there were then.

    What cannot be placed any more is inside what is unrestricted, and nowhere else. Where the books were made anew, so
    that their codes no longer tell which members came later, a deny leaves all but what it names.
    """
    dimension = reader.catalogue.dimensions.get(cut.dimension)
    if dimension is None or dimension.leaf != dimension.key:
        return ALL_CODES
    codes, then = reader.cut_codes(cut), permission.members[cut.dimension]
    if not cut.deny:
        return CodeSet(codes) if len(codes) == len(cut.ids) else ALL_CODES
    if counted(cut.dimension, then[0], reader) == then:
        return CodeSet(frozenset(range(then[0])) - codes)
    return CodeSet(codes, complement=True)


def newer_data(permission: Permission, reader: Reader) -> Iterator[Note]:
    """Yield, for each domain, of which scenarios newer data was loaded since."""
    for domain in permission.domains:
        newer = dict.fromkeys(
            granted.scenario
            for granted in permission.granted
            if granted.domain == domain and granted.version != reader.version(domain, granted.scenario)
        )
        if newer:
            yield Note.of("newer_data", domain=domain, scenarios=", ".join(newer))
