"""Books of plain values written as an instance, loaded and opened."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from engine.books.books import Shelf
from engine.door import Door
from engine.facts.backend import ArrowVersions
from engine.model.fact_store import Versions
from engine.model.profiles import EVERYONE
from server.feeds.instance import read_instance
from tests.laws.oracle.books import (
    AXIS,
    GL,
    LEAVES,
    MEASURES,
    PEOPLE,
    PLACES,
    Cuts,
    OracleBase,
    OracleBooks,
    OracleFormula,
    OracleRow,
    OverTime,
)
from tests.laws.oracle.calendar import trading_table
from tests.laws.oracle.expressions import text
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.memory import folder_in_memory

DIMENSIONS = """
product: {kind: leaf, members: live.product}
band: {kind: derived, from: product, attribute: band}
tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
alt: {kind: ragged, leaf_dimension: product, nodes: live.alt}
region: {kind: leaf, members: live.region}
date: {kind: leaf, grain: date}
week: {kind: leaf, grain: week}
month: {kind: leaf, grain: month}
quarter: {kind: leaf, grain: quarter}
year: {kind: leaf, grain: year}
"""
TIME = {GL: {"column": "date", "missing": "keep"}, PEOPLE: {"column": "date", "grain": "month", "missing": "keep"}}
PROFILE = "seen"
STATEMENT = "full"
OpenVersions = Callable[[Path], Versions]


@contextmanager
def opened(books: OracleBooks, *, parts: int = 1, versions: OpenVersions = ArrowVersions) -> Iterator[Door]:
    """Write books, load them, and open them as their profile sees them; the ledger in so many bindings and files."""
    with folder_in_memory() as folder:
        yield loaded(books, folder, parts, versions)


def loaded(books: OracleBooks, folder: Path, parts: int, versions: OpenVersions = ArrowVersions) -> Door:
    """Write books into a folder and load them."""
    facts = {domain: [row for row in books.rows if row.domain == domain] for domain in (GL, PEOPLE)}
    splits = {f"gl{at}": facts[GL][at::parts] for at in range(1, parts)}
    facts[GL] = facts[GL][::parts]
    instance = write_instance(
        folder / "books",
        facts={domain: table(domain, rows) for domain, rows in facts.items()},
        domains={domain: domain_of(books, domain) for domain in (GL, PEOPLE)},
        dimensions=DIMENSIONS,
        tables={**tables(books), **{name: table(GL, rows) for name, rows in splits.items()}},
        statements={STATEMENT: "\n".join(f"- {json.dumps(line)}" for line in lines(books))},
        bindings={name: {"target": "live.gl", "unknown_members": "extend"} for name in splits},
        scenarios=json.dumps({key: scenario(books, key) for key in books.scenarios}),
        fiscal_year=json.dumps({"starts": books.fiscal.starts, "named_by": "end" if books.fiscal.by_end else "start"}),
        trading=trading_table(),
        profiles=profile(books),
    )
    read = read_instance(instance)
    load_instance(instance, folder / "state", read)
    shelf = Shelf(read.catalogue, folder / "state" / "store", versions)
    return Door(shelf, read.profiles.by_key[PROFILE] if books.allowed else EVERYONE)


def table(domain: str, rows: Sequence[OracleRow]) -> str:
    """Return rows as a table written with spaces."""
    columns = (*LEAVES[domain], *MEASURES[domain])
    written = [f"date scenario {' '.join(columns)}"]
    for row in rows:
        day = "-" if row.day is None else row.day.isoformat()[: 10 if domain == GL else 7]
        members = (row.members[key] or "-" for key in LEAVES[domain])
        amounts = (decimal(row.amounts[key], PLACES[key]) for key in MEASURES[domain])
        written.append(" ".join((day, row.scenario, *members, *amounts)))
    return "\n".join(written)


def decimal(amount: Fraction, places: int) -> str:
    """Return an amount as digits."""
    units = int(amount * 10**places)
    digits = f"{abs(units):0{places + 1}}"
    sign = "-" if units < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def tables(books: OracleBooks) -> dict[str, str]:
    """Return the tables of members and nodes."""
    products = [f"{product} {band or '-'}" for product, band in books.bands.items()]
    nodes = {
        key: [f"{edge.node} {edge.parent or '-'} {edge.weight}" for edge in edges] for key, edges in books.trees.items()
    }
    return {
        "product": "\n".join(["id band", *products]),
        "region": "id\nEU\nUS",
        **{key: "\n".join(["node parent weight", *edges]) for key, edges in nodes.items()},
    }


def domain_of(books: OracleBooks, domain: str) -> str:
    """Return the file of a domain, as JSON part by part."""
    metrics = {base.key: base_part(base) for base in books.bases.values() if base.domain == domain}
    formulas = {formula.key: formula_part(formula) for formula in books.formulas.values() if formula.domain == domain}
    declared = books.rollups.get(domain, ())
    parts = {
        "time": TIME[domain],
        "inspect_enabled": True,
        "dimensions": {key: key for key in LEAVES[domain] if key != AXIS},
        "axes": {key: key for key in LEAVES[domain] if key == AXIS},
        "measures": {
            key: {"places": PLACES[key], "type": "money" if key == "amount" else "number"} for key in MEASURES[domain]
        },
        "balances": {
            key: {"where": where_part(group.where[0]), "grain": group.grain}
            for key, group in books.groups[domain].items()
        },
        **({} if declared is None else {"rollups": [list(keys) for keys in declared]}),
        "metrics": {**metrics, **formulas},
    }
    return "\n".join(f"{key}: {json.dumps(part)}" for key, part in parts.items())


def where_part(where: Cuts) -> dict[str, list[str] | str]:
    """Return cuts as a file writes them."""
    return {key: list(ids) for key, ids in where.items()}


def base_part(base: OracleBase) -> dict[str, Any]:
    """Return a base metric as its file writes it."""
    measured = {} if base.counts else {"measure": base.measure, "sign": "negate" if base.negated else "keep"}
    return {
        **measured,
        "where": {**where_part(base.where), **exclusion_part(base), **condition_part(base)},
        "over_members": over_members_part(base),
        "over_time": over_time_part(base.over_time),
        **({"balance": base.group} if base.group else {}),
        **({"repeats": True} if base.repeats else {}),
    }


def over_members_part(base: OracleBase) -> str | dict[str, Any]:
    """Return what a base makes of its rows as its file writes it."""
    match base.over_members:
        case "count_distinct":
            return {"count_distinct": base.distinct}
        case "percentile":
            return {"percentile": base.percent}
    return base.over_members


def exclusion_part(base: OracleBase) -> dict[str, dict[str, list[str]]]:
    """Return the members that a base excludes as its file writes them."""
    return {key: {"exclude": list(ids)} for key, ids in base.without.items()}


def condition_part(base: OracleBase) -> dict[str, str]:
    """Return the condition on amounts of a base as its file writes it."""
    if base.condition is None:
        return {}
    measure, comparison, limit = base.condition
    return {measure: f"{comparison} {float(limit):.2f}"}


def over_time_part(over_time: OverTime) -> str | dict[str, Any]:
    """Return a rule over time as its file writes it."""
    match over_time.rule:
        case "sum" | "lowest" | "highest":
            return over_time.rule
        case "closing":
            return "opening" if over_time.opening else "closing"
        case "average":
            return {"average": {"of": over_time.of}}
    back = {over_time.rule: over_time.since}
    return {"opening": back} if over_time.opening else back


def formula_part(formula: OracleFormula) -> dict[str, Any]:
    """Return a formula metric as its file writes it."""
    return {"formula": text(formula.expression), **({"format": "percent"} if formula.percent else {})}


def lines(books: OracleBooks) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of the statement: every metric, the formulas of lines, the rollup."""
    yield {"header": "Everything"}
    for key in (*books.bases, *books.formulas):
        yield {"metric": key}
    for formula in books.lines.values():
        yield {"formula": {"key": formula.key, "label": formula.key, "is": text(formula.expression)}}
    part = {"metric": books.rollup.base, "dimension": "tree", "node": books.rollup.node}
    yield {"rollup": part, "key": "rolled", "sign": "negate" if books.rollup.negated else "keep"}


def scenario(books: OracleBooks, key: str) -> dict[str, Any]:
    """Return a scenario as its file writes it."""
    found = books.scenarios[key]
    adjust = [
        {"where": where_part(part.where), "factor": part.factor, "measures": list(part.measures)}
        for part in found.downside
    ]
    closed = found.closed.get("") or {domain: month for domain, month in found.closed.items() if domain}
    return {
        "alias": key.title(),
        "kind": key,
        **({"closed_through": closed} if closed else {}),
        **({"variants": {"downside": {"label": "Downside", "adjust": adjust}}} if adjust else {}),
    }


def profile(books: OracleBooks) -> str:
    """Return the profile that shows some regions of some scenarios, and the others whole."""
    if not books.allowed:
        return ""
    grants: dict[str, Any] = {"*": {}}
    for key, regions in books.allowed.items():
        grants[key] = {"dimensions": {"region": {"allow": list(regions)}}}
    return json.dumps({PROFILE: {"scenarios": grants}})
