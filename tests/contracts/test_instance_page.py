"""docs/instance.md is a working instance: its files are read and loaded as they stand there, and every key is named."""

import json
import re
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from engine.books.books import Shelf
from engine.books.checks import data_faults, profile_faults
from engine.door import open_books
from engine.facts.load_modes import LoadMode
from engine.instance.documents import InstanceFaults
from engine.instance.read import STORE
from engine.report.report import Report
from scripts.schemas import SCHEMAS
from server.feeds.instance import read_instance
from tests.support.books.instance_page import LEDGER, MAIN, PAGE, RECIPES, SECOND, SECTIONS, blocks, table, write
from tests.support.books.loads import load_feeds
from tests.support.books.small import figure, figures
from tests.support.engines.postgres import postgres

CODE = re.compile("`([^`]+)`")
WORDS = {("domains", "how"): "over_members", ("domains", "rule"): "over_time"}  # keys for which a word alone stands


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The instance of the page."""
    folder = tmp_path_factory.mktemp("page") / "corvane"
    write(folder, MAIN)
    return folder


@pytest.fixture(scope="module")
def erp(tmp_path_factory: pytest.TempPathFactory, page: Path) -> Iterator[None]:
    """The database and the folder that its feeds read."""
    (ledger,) = (block.text for block in blocks(MAIN) if block.named == LEDGER)
    types = {"posting_date": "date", "amount": "numeric(14,2)"}
    columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in ledger.splitlines()[0].split(","))
    with postgres(tmp_path_factory.mktemp("erp")) as uri, pytest.MonkeyPatch.context() as environment:
        with psycopg.connect(uri) as database, database.cursor() as cursor:
            cursor.execute(f"create table ledger ({columns})".encode())
            with cursor.copy("copy ledger from stdin (format csv, header)") as copy:
                copy.write(ledger)
        environment.setenv("ERP_DATABASE_URI", uri)
        environment.setenv("DROP_FOLDER", str(page / "drop"))
        yield


def loaded(folder: Path, state: Path) -> Path:
    """Load an instance as the page says."""
    feeds = read_instance(folder).bindings.values()
    by_period = [feed.key for feed in feeds if feed.mode is LoadMode.REPLACE_PERIODS]
    load_feeds(folder, state, *(feed.key for feed in feeds if feed.key not in by_period))
    load_feeds(folder, state, *by_period, periods="2026-03")
    return folder


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory, page: Path, erp: None) -> Path:  # noqa: ARG001 - what feeds read
    """The state folder of the instance, loaded."""
    folder = tmp_path_factory.mktemp("state")
    loaded(page, folder)
    return folder


def test_every_block_is_a_file() -> None:
    text = PAGE.read_text(encoding="utf-8").removesuffix(RECIPES)  # the recipes have a test of their own
    written = len(re.findall("^```(?:yaml|csv)", text, re.MULTILINE))
    assert len([*blocks(MAIN), *blocks(SECOND)]) == written


def test_the_instance_of_the_page_has_no_fault(page: Path) -> None:
    instance = read_instance(page)
    assert not instance.profiles.faults
    assert instance.bindings.keys() == {
        "account", "pnl_nodes", "entity", "org_nodes", "people", "gl", "budget", "fx", "sales",
    }  # fmt: skip


def said(report: Report) -> list[list[str]]:
    """Return a report as the page's tables write it."""
    found = figures(report, "line", "alias")
    units = {(row["line"], row["alias"]): row["unit"] for row in report.frame.iter_rows(named=True)}
    suffix = {"fraction": " %", "pp": " pp"}

    def cell(line: str, alias: str) -> str:
        value = found.get((line, alias))
        if value is None:
            return ""
        unit = suffix.get(units[line, alias], "")
        return f"{(value * 100 if unit else value).normalize():f}{unit}".replace("-", "\N{MINUS SIGN}")

    headings = [column.heading for column in report.columns]
    rows = [[line.label, *(cell(line.key, heading) for heading in headings)] for line in report.lines]
    return [["", *headings], *rows]


def answers(profile: str | None) -> list[list[str]]:
    """Return what the page says that a profile is answered."""
    everyone, _, emea = MAIN.partition("## What it answers")[2].partition("`subtotals`")[0].partition("`emea`")
    return table(emea if profile else everyone)


@pytest.mark.parametrize("profile", [None, "emea"])
def test_it_answers_what_the_page_says(page: Path, state: Path, profile: str | None) -> None:
    assert said(open_books(page, state=state, profile=profile).statement()) == answers(profile)


def test_it_converts_as_the_page_says(page: Path, state: Path) -> None:
    books = open_books(page, state=state)
    assert figure(books.metric("orders", scenarios={"A": "actual"}, period="2026-03")) == 580 + 920


def test_its_subtotals_are_what_the_page_says(page: Path, state: Path) -> None:
    heading, *rows = table(MAIN.partition("## What it answers")[2].partition("`subtotals`")[2])
    report = open_books(page, state=state).metric(
        *(metric.strip("`") for metric in heading[2:]),
        scenarios={"A": "actual"},
        period="2026-03",
        dimensions=["entity", "cost_centre"],
        subtotals=True,
    )
    found = figures(report, "metric", "entity", "cost_centre")
    assert list(dict.fromkeys((entity, centre) for _, entity, centre in found)) == [
        (entity or None, centre or None) for entity, centre, *_ in rows
    ]
    for entity, centre, *cells in rows:
        values = [found[metric.strip("`"), entity or None, centre or None] for metric in heading[2:]]
        said = [Decimal(cell.removesuffix(" %")) / (100 if "%" in cell else 1) if cell else None for cell in cells]
        assert values == said, (entity, centre)


def test_its_files_fit_what_its_feeds_bring(page: Path, state: Path) -> None:
    instance = read_instance(page)
    books = Shelf(instance.catalogue, state / STORE).current()
    assert list(data_faults(books, instance.bindings)) == []
    assert list(profile_faults(books, instance.profiles.by_key.values())) == []


@pytest.mark.usefixtures("erp")
def test_with_a_calendar_of_its_own_it_answers_the_same(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corvane"
    shutil.copytree(page, folder)
    write(folder, SECOND)
    books = open_books(loaded(folder, tmp_path / "state"), state=tmp_path / "state")
    report = books.statement("pnl", scenarios={"Actuals": "actual"}, period="2026-03")
    assert (report.period.span.first.isoformat(), report.period.span.last.isoformat()) == ("2026-02-22", "2026-03-28")
    assert said(report) == [row[:2] for row in answers(None)]


def properties(name: str) -> Iterator[tuple[str, Any]]:
    """Yield every key that a file may hold, with its schema."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    for part in (schema, *schema["$defs"].values()):
        yield from part["properties"].items()


def values(part: Any) -> Iterator[str]:
    """Yield every word that a key takes."""
    if isinstance(part, dict):
        yield from part.get("enum", ())
        for deeper in part.values():
            yield from values(deeper)
    elif isinstance(part, list):
        for deeper in part:
            yield from values(deeper)


@pytest.mark.parametrize("name", sorted(path.stem for path in SCHEMAS.glob("*.json")))
def test_every_key_of_a_file_stands_in_its_section(name: str) -> None:
    section = SECTIONS[name]
    keys = {WORDS.get((name, key), key) for key, _ in properties(name)}
    missing = {key for key in keys if not re.search(rf"`{key}\b|\b{key}:\s", section)}
    assert not missing
    for key, part in properties(name):
        marked = {word: rf"(?<!\w){re.escape(word)}(?!\w)" for word in values(part)}
        unsaid = {word for word, mark in marked.items() if not re.search(rf"`[^`\n]*{mark}[^`\n]*`|: {mark}", section)}
        assert not unsaid, key


def test_what_a_key_is_where_it_is_left_out_is_its_default() -> None:
    for name, section in SECTIONS.items():
        for row in table(section):
            if row[0].startswith("`") and row[-1].startswith("`"):
                key, said_default = CODE.findall(row[0])[0], CODE.findall(row[-1])[0]
                defaults = [part.get("default") for other, part in properties(name) if other == key]
                assert said_default in {plain(default) for default in defaults}, key


def plain(default: Any) -> str:
    """Return a default as the page writes it."""
    return next(filter(None, default.values())) if isinstance(default, dict) else str(default).lower()


def taken(section: str) -> Iterator[tuple[str, str]]:
    """Yield every key of a section with each value that its tables say it takes."""
    for lines in re.findall(r"(?:^\|.+\n)+", section, re.MULTILINE):
        head, *rows = table(lines)
        for row in rows:
            if head[0].startswith("`"):  # a table of what one key takes
                yield head[0].strip("`"), row[0].strip("`")
            elif row[1].startswith("`"):
                yield from ((CODE.findall(row[0])[0], value) for value in CODE.findall(row[1]))


TAKES = [(name, key, value) for name, section in SECTIONS.items() for key, value in taken(section)]


def changed(tree: Any, key: str, value: Any) -> Iterator[Any]:
    """Yield a tree with a key set in one of its mappings, those first that have it."""
    if isinstance(tree, dict):
        if key in tree:
            yield {**tree, key: value}
        for name, part in tree.items():
            yield from ({**tree, name: other} for other in changed(part, key, value))
        if key not in tree:
            yield {**tree, key: value}
    elif isinstance(tree, list):
        for at, part in enumerate(tree):
            yield from ([*tree[:at], other, *tree[at + 1 :]] for other in changed(part, key, value))


@pytest.mark.parametrize(("name", "key", "value"), TAKES)
def test_what_a_key_takes_can_be_read(page: Path, tmp_path: Path, name: str, key: str, value: str) -> None:
    folder = tmp_path / "corvane"
    shutil.copytree(page, folder)
    files = sorted(folder.glob(f"{name}/*.yaml")) or [folder / f"{name}.yaml"]
    asked = texts(value)
    assert any(is_read(folder, path, other) for path in files for other in changed(texts(path.read_text()), key, asked))


def texts(written: str) -> Any:
    """Read YAML as texts alone."""
    return yaml.load(written, yaml.BaseLoader)  # noqa: S506 - a loader of texts makes no objects


def is_read(folder: Path, path: Path, tree: Any) -> bool:
    """Tell whether an instance has no fault with another file in the place of one of its own."""
    own = path.read_text(encoding="utf-8")
    if tree == texts(own):
        return True
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    try:
        read_instance(folder)
    except InstanceFaults:
        return False
    finally:
        path.write_text(own, encoding="utf-8")
    return True
