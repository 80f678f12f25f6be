"""Books of the law of scope written as an instance, loaded, and asked through the tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.books.books import Shelf
from engine.facts.backend import ArrowVersions
from engine.model.fact_store import Versions
from server.base.interfaces import Principal
from server.caller.caller import Caller, Callers
from server.caller.feeds import Feeds
from server.feeds.instance import ServedInstance, read_instance
from tests.laws.oracle.calendar import trading_table
from tests.laws.scoped.books import AXIS, KINDS, LEAVES, MEASURES, NOT_HELD, ScopedBooks, ScopedRow, ScopedScenario
from tests.laws.scoped.cutting import DIMENSIONS, axes_of, dimensions_of
from tests.laws.scoped.profiles import GrantSpec, ProfileSpec, profile_part
from tests.support.books.fed import SOMEBODY
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

Held = Mapping[str, Sequence[ProfileSpec]]  # the profiles of each subject
ROW_CAP = 1000
EVERYTHING = ProfileSpec({"*": GrantSpec()})
PLACES = {"amount": 2, "fte": 1, "value": 2, "sold": 0}
ATTRIBUTES = {"product": ("code", "name", "band"), "customer": ("name",)}
MONEY = ("amount", "value")
DOMAINS: Mapping[str, Mapping[str, Any]] = {
    "gl": {"time": {"column": "date", "missing": "keep"}, "inspect_enabled": True},
    "people": {"time": {"column": "date", "grain": "month", "missing": "keep"}, "inspect_enabled": True},
    "sales": {
        "time": {"column": "date", "missing": "keep"},
        "inspect_enabled": True,
        "inspect_columns": ["date", "customer", "value", "memo"],
        "sort": ["product"],
    },
}


class ScopedTools:
    """Loaded books as a caller with some profiles meets them, on a budget of tokens or another."""

    def __init__(
        self,
        books: ScopedBooks,
        held: Sequence[ProfileSpec] | Held,
        folder: Path,
        versions: Callable[[Path], Versions] = ArrowVersions,
    ) -> None:
        self.loads = MemoryLoads()
        written = write(books, held, folder / "books")
        self._instance: ServedInstance = read_instance(written)
        load_feeds(written, folder / "state", loads=self.loads, read=self._instance)
        self._store = folder / "state" / "store"
        self._feeds = Feeds.of(self._instance.bindings, self.loads, {})
        self._versions = versions
        self.open()

    def open(self) -> None:
        """Open the books anew, with nothing worked out before."""
        self._shelf = Shelf(self._instance.catalogue, self._store, self._versions)

    def caller(self, answer_tokens: int, who: Principal = SOMEBODY) -> Caller:
        """Return a caller with the profiles that they have."""
        keeping = keeping_in(self._store.parent / "files")
        return Callers(self._instance, self._shelf, self._feeds, keeping, WORKSHOP, answer_tokens, ROW_CAP).of(
            who, lambda: None
        )


def write(books: ScopedBooks, held: Sequence[ProfileSpec] | Held, folder: Path) -> Path:
    """Write books and the profiles that subjects have, or somebody has."""
    dimensions = dimensions_of(books)
    covers = ["covers: {tree: G}"] if "tree" in dimensions else []
    instance = write_instance(
        folder,
        facts={domain: table(domain, books.rows) for domain in books.domains},
        domains={domain: domain_text(books, domain) for domain in books.domains},
        dimensions="\n".join(f"{key}: {DIMENSIONS[key]}" for key in dimensions),
        tables={key: text for key, text in tables(books).items() if key in dimensions},
        statements={
            key: "\n".join((*(f"- {json.dumps(line.part)}" for line in lines), *covers))
            for key, lines in books.statements.items()
        },
        scenarios=json.dumps(
            {key: scenario_part(key, books.scenarios[key]) for key in books.scenarios}
            | {"comparisons": list(books.comparisons)}
        ),
        fiscal_year="{starts: 4}",  # calendar and trading years stand beside fiscal ones
        trading=trading_table(),
        profiles=profiles_text(held),
    )
    with (instance / "instance.yaml").open("a", encoding="utf-8") as more:
        more.write(f"default: {json.dumps(dict(books.default))}\n")
        more.write(f"terms: {json.dumps(dict(books.terms))}\nnot_held: {json.dumps(NOT_HELD)}\n")
    return instance


def profiles_text(held: Sequence[ProfileSpec] | Held) -> str:
    """Return the file of the profiles that subjects have, or somebody has: p0, p1 and so on."""
    by_subject = held if isinstance(held, Mapping) else {SOMEBODY.subject: held}
    owned = [(subject, profile) for subject, profiles in by_subject.items() for profile in profiles]
    named = {f"p{at}": profile_part(profile) for at, (_, profile) in enumerate(owned)}
    assigned = [{"subject": subject, "profile": f"p{at}"} for at, (subject, _) in enumerate(owned)]
    return json.dumps({**named, "assign": assigned})


def table(domain: str, rows: Sequence[ScopedRow]) -> str:
    """Return the rows of a domain as a table written with spaces."""
    members = (*LEAVES[domain], *axes_of(domain))
    written = [f"date scenario {' '.join((*members, *MEASURES[domain], 'memo'))}"]
    for row in (row for row in rows if row.domain == domain):
        day = "-" if row.day is None else row.day.isoformat()[: 7 if domain == "people" else 10]
        cells = (row.members[leaf] or "-" for leaf in members)
        memo = f"Note~{row.members[members[-1]]}~{day[-1]}"
        written.append(" ".join((day, row.scenario, *cells, *(row.amounts[key] for key in MEASURES[domain]), memo)))
    return "\n".join(written)


def tables(books: ScopedBooks) -> dict[str, str]:
    """Return the tables of members and nodes."""
    nodes = [
        f"{edge.node} {edge.parent or '-'} {edge.weight} {spaced(books.names.get(edge.node, ''))}"
        for edge in books.edges
    ]
    found = {"tree": "\n".join(["node parent weight name", *nodes])}
    for leaf, members in books.members.items():
        attributes = ATTRIBUTES[leaf]
        rows = [" ".join((key, *(spaced(known[name]) for name in attributes))) for key, known in members.items()]
        found[leaf] = "\n".join([" ".join(("id", *attributes)), *rows])
    return found


def spaced(text: str) -> str:
    """Return a text as a cell of a table that is written with spaces."""
    return text.replace(" ", "~") or "-"


def domain_text(books: ScopedBooks, domain: str) -> str:
    """Return the file of a domain, as JSON part by part."""
    measures = {
        key: {
            "places": PLACES[key],
            "type": "money" if key in MONEY else "number",
            **({"currency": AXIS} if key == "amount" else {}),
            **({"unit_from": "band"} if "product" in LEAVES[domain] else {}),
        }
        for key in MEASURES[domain]
    }
    parts = {
        **DOMAINS[domain],
        "label": f"Domain {domain}",
        "dimensions": {leaf: leaf for leaf in LEAVES[domain]},
        "axes": {axis: axis for axis in axes_of(domain)},
        "measures": measures,
        "rollups": [list(keys) for keys in books.rollups[domain]],
        "metrics": {key: dict(known.part) for key, known in books.metrics[domain].items()},
    }
    return "\n".join(f"{key}: {json.dumps(part)}" for key, part in parts.items())


def scenario_part(key: str, scenario: ScopedScenario) -> dict[str, Any]:
    """Return a scenario as its file writes it."""
    closed = scenario.closed.get("") or dict(scenario.closed)
    variants = {"downside": {"label": "Downside", "adjust": [dict(part) for part in scenario.adjust]}}
    return {
        "alias": key.title(),
        "kind": KINDS.get(key, key),
        **({"closed_through": closed} if closed else {}),
        **({"variants": variants} if scenario.adjust else {}),
    }
