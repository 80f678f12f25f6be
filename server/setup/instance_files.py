"""Instance files: the YAML of a proposal, with comments that say what was guessed and what to change."""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from engine.model.calendar.periods import Grain
from server.files.findings import Findings, nested
from server.files.sampling import SourceTable
from server.setup.dimensions import DimensionProposal
from server.setup.facts import FactsTable
from server.setup.periods import INTO
from server.setup.proposal import BooksProposal, DomainProposal
from server.setup.words import title
from server.setup.yaml_lines import comment, yaml_file, yaml_text

TABLES: Final = "tables"  # folder in the instance for tables that are written, such as trees
GRAINS: Final = {Grain.DATE: "day", Grain.MONTH: "month", Grain.QUARTER: "quarter", Grain.YEAR: "year"}


class PeriodDefault(Struct, frozen=True):
    """The periods that a first report shows."""

    start: str
    end: str


def instance_files(books: BooksProposal, folder: Path) -> dict[str, str]:
    """Return the files of an instance by their paths in its folder."""
    files = {
        "instance.yaml": yaml_file(instance_yaml(books)),
        "dimensions.yaml": yaml_file(dimensions_yaml(books)),
        "scenarios.yaml": yaml_file(scenarios_yaml(books)),
        "profiles.yaml": PROFILES,
        "integrations.yaml": yaml_file(integrations_yaml(books, folder)),
    }
    for domain in books.domains:
        files[f"domains/{domain.key}.yaml"] = yaml_file(domain_yaml(domain))
        files[f"statements/{domain.statement}.yaml"] = yaml_file(statement_yaml(domain, books))
    for dimension in all_dimensions(books):
        if dimension.members and dimension.members.rows:
            files[f"{TABLES}/{dimension.key}.csv"] = csv_text(("id", "name"), dimension.members.rows)
        if dimension.tree and dimension.tree.rows:
            files[f"{TABLES}/{dimension.tree_key}.csv"] = csv_text(("node", "parent", "name"), dimension.tree.rows)
    return files


PROFILES: Final = """\
# Who sees what. The one user of `tieout serve` on this machine is dev, and sees everything.
controller: {operations: true, scenarios: {"*": {}}}
assign:
  - {subject: dev, profile: controller}
"""


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as CSV."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def all_dimensions(books: BooksProposal) -> Iterator[DimensionProposal]:
    """Yield the dimensions of all domains, each once."""
    seen: set[str] = set()
    for domain in books.domains:
        for dimension in domain.dimensions.values():
            if dimension.key not in seen:
                seen.add(dimension.key)
                yield dimension


def instance_yaml(books: BooksProposal) -> Iterator[str]:
    """Yield the lines of instance.yaml."""
    yield "# Written by tieout init. docs/instance.md explains every key; `tieout check` holds the files to it."
    yield f"name: {yaml_text(books.name)}"
    remark = "   # no file names one; write the code of yours, such as EUR" if books.currency == "XXX" else ""
    yield f"currency: {yaml_text(books.currency)}{remark}"
    if books.fiscal_year:
        yield f"fiscal_year: {yaml_text(books.fiscal_year)}"
    else:
        yield "# fiscal_year: {starts: 7, named_by: end}   # left out, years are calendar years"
    domain = books.domains[0]
    yield "default:   # what a report shows that names nothing"
    yield f"  statement: {domain.statement}"
    own = domain_scenarios(domain, books)
    yield "  scenarios:"
    for scenario in own[:2]:
        yield f"    - {{scenario: {yaml_text(scenario)}, alias: {yaml_text(books.scenarios[scenario])}}}"
    if len(own) > 1:
        yield f"    - {{scenario: {yaml_text(f'var({own[0]},{own[1]})')}, alias: Variance}}"
    periods = default_periods(domain)
    yield f"  period_start: {yaml_text(periods.start)}   # the last year of the data"
    yield f"  period_end: {yaml_text(periods.end)}"


def domain_scenarios(domain: DomainProposal, books: BooksProposal) -> list[str]:
    """Return the scenarios of a domain, in the order of the books."""
    own = {scenario for table in domain.tables for scenario in (table.scenario, *table.scenarios.values()) if scenario}
    return [scenario for scenario in books.scenarios if scenario in own]


def default_periods(domain: DomainProposal) -> PeriodDefault:
    """Return the months of the last calendar year with data, or the year where no months are known."""
    first = min(table.first for table in domain.tables)
    last = max(table.last for table in domain.tables)
    start = max(first, last.replace(month=1, day=1))
    if domain.grain is Grain.YEAR:
        return PeriodDefault(f"{last:%Y}", f"{last:%Y}")
    if domain.grain is Grain.QUARTER:
        return PeriodDefault(f"{start:%Y}-Q{(start.month + 2) // 3}", f"{last:%Y}-Q{(last.month + 2) // 3}")
    return PeriodDefault(f"{start:%Y-%m}", f"{last:%Y-%m}")


def dimensions_yaml(books: BooksProposal) -> Iterator[str]:
    """Yield the lines of dimensions.yaml."""
    yield "# Ways to filter and to break down. `period` is always there."
    written = False
    for dimension in all_dimensions(books):
        written = True
        members = f", members: live.{dimension.key}" if dimension.members else ""
        yield f"{dimension.key}: {{kind: leaf, label: {yaml_text(dimension.label)}{members}}}"
        if dimension.members:
            for key, column in dimension.members.attributes.items():
                label = f"label: {yaml_text(title(column))}"
                yield f"{key}: {{kind: derived, {label}, from: {dimension.key}, attribute: {key}}}"
        if dimension.tree:
            remark = comment(dimension.tree.evidence)
            nodes = f"leaf_dimension: {dimension.key}, nodes: live.{dimension.tree_key}"
            label = f"label: {yaml_text(f'{dimension.label} tree')}"
            yield f"{dimension.tree_key}: {{kind: ragged, {label}, {nodes}}}{remark}"
    if not written:
        yield "{}"


def scenarios_yaml(books: BooksProposal) -> Iterator[str]:
    """Yield the lines of scenarios.yaml."""
    yield "# closed_through: 2026-02 says which periods are closed; left out, none is."
    for scenario, alias in books.scenarios.items():
        kind = next((kind for kind in ("actual", "budget", "forecast") if kind in scenario), "actual")
        yield f"{yaml_text(scenario)}: {{alias: {yaml_text(alias)}, kind: {kind}}}"
    names = list(books.scenarios)
    if len(names) > 1:
        yield f"comparisons: [[{yaml_text(names[0])}, {yaml_text(names[1])}]]"


def domain_yaml(domain: DomainProposal) -> Iterator[str]:
    """Yield the lines of a file of domains/."""
    first = domain.tables[0]
    yield f"domain: {domain.key}"
    yield f"label: {yaml_text(domain.label)}"
    yield f"table: live.{domain.key}"
    yield "scenario: scenario"
    undated = sum(table.undated for table in domain.tables)
    missing = (
        f"keep}}   # {undated:,} rows of the sample have none" if undated else "reject}   # keep loads undated rows"
    )
    yield f"time: {{column: {domain.time_column}, grain: {GRAINS[domain.grain]}, missing: {missing}"
    yield f"dimensions: {yaml_text({key: key for key in domain.dimensions})}"
    yield "measures:"
    for measure in first.measures:
        parts: dict[str, Any] = {"type": "money" if measure.is_money else "number"}
        parts["places"] = max(one.places for table in domain.tables for one in table.measures if one.key == measure.key)
        if measure.is_money and domain.currency and measure.currency is None:
            parts["currency"] = domain.currency
        yield f"  {measure.key}: {yaml_text(parts)}"
    yield "inspect_enabled: true"
    measures = [measure.key for measure in first.measures]
    yield f"inspect_columns: {yaml_text([domain.time_column, *domain.dimensions, *measures, *domain.texts])}"
    yield "metrics:   # sign: negate shows amounts with the opposite sign"
    for measure in first.measures:
        label = title(measure.key if first.found.table.scenario else measure.column or measure.key)
        closing = ", over_time: closing" if measure.is_closing else ""
        yield f"  {measure.key}: {{label: {yaml_text(label)}, measure: {measure.key}{closing}}}"


def statement_yaml(domain: DomainProposal, books: BooksProposal) -> Iterator[str]:
    """Yield the lines of the first statement of a domain: its tree, and the total of each measure."""
    measure = domain.tables[0].measures[0]
    prefix = f"{domain.key}." if len(books.domains) > 1 else ""
    yield f"statement: {domain.statement}"
    yield f"label: {yaml_text(domain.label)}"
    yield "lines:"
    main = domain.main
    if main is not None and main.tree is not None:
        for node, name in main.tree.roots:
            depth = f", depth: {main.tree.depth}" if main.tree.depth is not None else ""
            rollup = f"{{metric: {prefix}{measure.key}, dimension: {main.tree_key}, node: {yaml_text(node)}{depth}}}"
            yield f"  - {{rollup: {rollup}, label: {yaml_text(name)}}}"
    for one in domain.tables[0].measures:
        yield f"  - {{metric: {prefix}{one.key}, style: total}}"


def integrations_yaml(books: BooksProposal, folder: Path) -> Iterator[str]:
    """Yield the lines of integrations.yaml."""
    sources = source_keys(books, folder)
    yield "# Where the data comes from. The keys below were found by reading some rows; a load holds every row to them."
    yield "sources:"
    for source, key in sources.items():
        yield f"  {key}: {source}"
    if any((d.tree and d.tree.rows) or (d.members and d.members.rows) for d in all_dimensions(books)):
        yield f"  own: {{kind: folder, path: {TABLES}}}   # tables that init wrote, to be edited"
    yield "bindings:"
    for dimension in all_dimensions(books):
        yield from member_bindings(dimension, sources, folder)
    for domain in books.domains:
        for number, table in enumerate(domain.tables, 1):
            key = domain.key if len(domain.tables) == 1 else f"{domain.key}_{number}"
            yield from facts_binding(key, domain, table, sources, folder)


def source_keys(books: BooksProposal, folder: Path) -> dict[str, str]:
    """Return the sources of the tables as YAML, with their keys."""
    sources: dict[str, str] = {}
    tables = [table.found.table for domain in books.domains for table in domain.tables]
    tables += [d.members.found.table for d in all_dimensions(books) if d.members and d.members.found]
    for table in tables:
        name = "files" if table.database is None else "database"
        taken = sum(key.startswith(name) for key in sources.values())
        sources.setdefault(source_of(table, folder), f"{name}_{taken + 1}" if taken else name)
    return sources


def source_of(table: SourceTable, folder: Path) -> str:
    """Return the source of a table as YAML; paths are relative to the instance."""
    if table.database is not None:
        database = table.database
        is_file = database.located_by == "path"
        place = relative(Path(database.place), folder) if is_file else database.place
        return yaml_text({"kind": database.kind.value, database.located_by: place})
    return yaml_text({"kind": "folder", "path": relative(table.file[0], folder)})


def relative(path: Path, folder: Path) -> str:
    """Return a path as an instance names it."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def member_bindings(dimension: DimensionProposal, sources: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yield the lines of the feeds of a dimension's members and nodes."""
    members, tree = dimension.members, dimension.tree
    if members is not None:
        yield f"  {dimension.key}:{comment(members.evidence)}"
        if members.found is not None:
            mapped = {**members.mapped, **members.attributes}
            yield from file_lines(members.found.table, members.found.table.findings, sources, folder)
            yield f"    target: live.{dimension.key}"
            yield f"    map: {yaml_text(mapped)}"
        else:
            yield from own_lines(dimension.key)
    if tree is not None:
        yield f"  {dimension.tree_key}:{comment(tree.evidence)}"
        if tree.mapped and members is not None and members.found is not None:
            yield from file_lines(members.found.table, members.found.table.findings, sources, folder)
            yield f"    target: live.{dimension.tree_key}"
            yield f"    map: {yaml_text(tree.mapped)}"
        else:
            yield from own_lines(dimension.tree_key)


def own_lines(key: str) -> Iterator[str]:
    """Yield the lines of the feed of a table that init wrote."""
    yield "    source: own"
    yield f"    file: {key}.csv"
    yield f"    target: live.{key}"


def file_lines(table: SourceTable, findings: Findings, sources: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yield the lines of a feed that say which file it reads, and how that is written."""
    yield f"    source: {sources[source_of(table, folder)]}"
    if table.database is not None:
        yield f"    extract: {yaml_text(table.database.query)}"
    elif table.path is not None and not table.is_joined:
        yield f"    file: {yaml_text(table.file[1])}"
    yield from key_lines(findings)


def key_lines(findings: Findings) -> Iterator[str]:
    """Yield the keys of a format, each with what decided it."""
    by_part: dict[str, dict[str, Any]] = {}
    why: dict[str, list[str]] = {}
    for finding in findings.decided:
        part = finding.key.partition(".")[0]
        by_part.setdefault(part, {})[finding.key] = "tab" if finding.value == "\t" else finding.value
        if finding.evidence and finding.evidence not in why.setdefault(part, []):
            why[part].append(finding.evidence)
    for part, keys in by_part.items():
        remark = "; ".join(why.get(part, [])[:2])
        yield f"    {part}: {yaml_text(nested(keys)[part])}" + (comment(remark) if remark else "")


def facts_binding(
    key: str, domain: DomainProposal, table: FactsTable, sources: Mapping[str, str], folder: Path
) -> Iterator[str]:
    """Yield the lines of the feed of a table of facts."""
    yield f"  {key}:"
    yield from file_lines(table.found.table, table.findings, sources, folder)
    yield f"    target: live.{domain.key}"
    if table.scenario:
        yield f"    scenario: {yaml_text(table.scenario)}"
    mapped = facts_map(domain, table)
    if mapped:
        yield "    map:"
        for column, filling in mapped.items():
            yield f"      {column}: {yaml_text(filling)}"
    if table.constants:
        (text,) = table.constants.values()
        yield f"    constant: {yaml_text({domain.time_column: text})}"
    if any(dimension.members for dimension in domain.dimensions.values()):
        yield "    unknown_members: extend   # an id without a member row becomes a member; reject refuses its rows"


def facts_map(domain: DomainProposal, table: FactsTable) -> dict[str, Any]:
    """Return the map of a feed of facts: the columns whose names differ from those of the live table."""
    mapped: dict[str, Any] = {}
    if table.time_column is not None:
        mapped[domain.time_column] = table.time_column
    elif table.found.across is not None:
        across = table.found.across
        mapped[domain.time_column] = {"column": INTO, "values": dict(across.codes)} if across.codes else INTO
    if table.scenarios:
        column = next(column for column, (role, _) in table.found.roles.items() if role.value == "scenario")
        same = all(text == scenario for text, scenario in table.scenarios.items())
        mapped["scenario"] = column if same else {"column": column, "values": table.scenarios}
    own = domain.columns[table.name]
    for key in domain.dimensions:
        column = own.get(key, "")
        constants = {"": ""} | dict(table.found.table.constants)
        mapped[key] = {"constant": constants[column]} if column in constants else column
    for measure in table.measures:
        if measure.column is not None:
            mapped[measure.key] = measure.column
    for key, column in domain.texts.items():
        mapped[key] = column if column in table.found.columns else {"constant": ""}
    return {column: filling for column, filling in mapped.items() if filling != column}
