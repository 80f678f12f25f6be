"""Whether a snapshot may still be opened, and whether newer data was loaded since: its permission against a reader."""

from collections.abc import Iterator
from functools import reduce
from operator import or_

from engine.cuts import Cut, Cuts
from engine.notes import Note
from engine.reader import Reader
from engine.report.permission import Granted, Permission
from engine.scope import ALL_CODES, NOTHING, Allowed, Cell, CodeSet


def still_allows(permission: Permission, reader: Reader) -> bool:
    """Tell whether a reader may see all that a report was cut to, and every name in it."""
    return (
        permission.books == reader.catalogue.name
        and reader.domains.keys() >= set(permission.domains)
        and reader.scenarios.keys() >= set(permission.scenarios)
        and all(
            reader.cell(granted.scenario, granted.domain).contains(present_cell(granted, reader))
            for granted in permission.granted
        )
        and all(cut.dimension in reader.dimensions and sees(cut, reader) for cut in permission.nodes)
    )


def sees(cut: Cut, reader: Reader) -> bool:
    """Tell whether a reader sees every node of a cut."""
    return all(reader.sees(cut.dimension, node) for node in cut.ids)


def present_cell(granted: Granted, reader: Reader) -> Cell:
    """Return the cell that a report was cut to, on present members."""
    return reduce(or_, (Cell.of([present_part(cuts, reader)]) for cuts in granted.within), NOTHING)


def present_part(cuts: Cuts, reader: Reader) -> Allowed:
    """Return one part of a cell on present members."""
    return Allowed.of({cut.dimension: present_codes(cut, reader) for cut in cuts})


def present_codes(cut: Cut, reader: Reader) -> CodeSet:
    """Return the codes of a cut of a leaf dimension: all, where it allows what the books do not know any more.

    What cannot be placed is inside what is unrestricted, and nowhere else.
    """
    dimension = reader.catalogue.dimensions.get(cut.dimension)
    if dimension is None or dimension.leaf != dimension.key:
        return ALL_CODES
    codes = reader.cut_codes(cut)
    if cut.deny:
        return CodeSet(codes, complement=True)
    return CodeSet(codes) if len(codes) == len(cut.ids) else ALL_CODES


def newer_data(permission: Permission, reader: Reader) -> Iterator[Note]:
    """Yield, for each domain, of which scenarios newer data was loaded since."""
    for domain in permission.domains:
        newer = [
            granted.scenario
            for granted in permission.granted
            if granted.domain == domain and granted.version != reader.version(domain, granted.scenario)
        ]
        if newer:
            yield Note.of("newer_data", domain=domain, scenarios=", ".join(newer))
