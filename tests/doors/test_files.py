"""Files as systems write them: what `tieout init` makes of each, against the figures that the file holds."""

import re
import shutil
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.doors.case_books import CASES, CaseBooks, bounds, copy_case, number, parameters, read_case
from tests.doors.not_yet import FILES
from tests.support.books.newcomer import initialised

GROUP = CASES / "files"
DONE, REFUSES, ASKS = 0, 1, 3  # statuses of the command
OWN = {"README.md", "expected.json", "answers.yaml"}
PLACES = Decimal("0.01")  # of the figures of all files
QUESTIONS = {  # that no figure of the file decides, with the right answer
    "balances-added-up": "{over_time: closing}",
    "code-as-amount": "{over_time: sum}",
    "current-year": "{columns: {Previous Year: unused, Current Year: amount}}",
    "total-word-in-text": "{totals: keep}",
}
GIVEN = {  # answers beside those of the cases
    "year-column": "files: {budget_lines.csv: {scenario: actual}}",  # its name says budget; the case asks for actual
}
REFUSALS = {  # may be refused, if the refusal says this
    "answers-unknown-column": r"(?s)Buchungstag.*date.*account.*amount",
    "datev-extf": r"is a DATEV batch \(EXTF\), which is not read: export .* as CSV",
    "mt940": r"is a bank statement in MT940, which is not read: export .* as CSV",
    "saft-xml": r"is a SAF-T file, which is not read: export .* as CSV",
}
COUNTS: dict[str, list[str]] = {"right": [], "asked": [], "refused": []}
EXPECTED = {path.name: read_case(path / "expected.json") for path in sorted(GROUP.iterdir())}


def first_dimension(books: CaseBooks, expected: Mapping[str, Any]) -> str:
    """Return the first dimension of a case: that of its name, or the one that has its members."""
    leaves, name = leaf_dimensions(books), str(expected["dimensions"][0])
    ids = {cell.split("|")[0] for cell in expected["cells"]}
    having = [key for key in leaves if ids <= set(names(books, key))]
    assert name in leaves or having, f"no dimension has the members {sorted(ids)}"
    return name if name in leaves else having[0]


def leaf_dimensions(books: CaseBooks) -> list[str]:
    """Return the dimensions that rows carry, except time."""
    catalogue = books.fed.instance.catalogue
    return list(dict.fromkeys(leaf for domain in catalogue.domains for leaf in catalogue.leaves_of(domain)))


def names(books: CaseBooks, dimension: str) -> dict[str, str]:
    """Return the names of the members of a dimension by their ids."""
    records = books.fed.ask("search_hierarchy", dimension=dimension, limit=100)["records"]
    return {record["id"]: record["name"] for record in records}


def metric_of(books: CaseBooks, expected: Mapping[str, Any]) -> str:
    """Return the metric of a case: that of its name, or the only one."""
    metrics = books.fed.instance.catalogue.metrics
    return str(expected["metric"]) if expected["metric"] in metrics else next(iter(metrics))


def period_of(cells: Mapping[str, str]) -> str:
    """Return the range of the periods of some cells."""
    periods = [cell.split("|")[-1] for cell in cells]
    return f"{min(periods)}..{max(periods)}"


def shown(figure: Decimal, expected: Mapping[str, Any]) -> Decimal:
    """Return a figure as it is, without the residues of formulas where a case has some."""
    return figure.quantize(PLACES) if expected["kind"] == "float_residue" else figure


def check_cells(
    books: CaseBooks, expected: Mapping[str, Any], cells: Mapping[str, str], scenario: str = "actual", **more: Any
) -> None:
    """Check the figures of cells by the dimensions of a case, that no other cell holds anything, and their sum."""
    dimensions = [*more.pop("by", ()), first_dimension(books, expected), "period"]
    found = books.figures(metric_of(books, expected), period_of(cells), scenario, dimensions=dimensions, **more)
    figures = {"|".join(key): shown(figure, expected) for key, figure in found.items() if figure is not None}
    total = figures.pop("Total", None)
    assert {cell: figure for cell, figure in figures.items() if figure} == {
        cell: Decimal(text) for cell, text in cells.items() if Decimal(text)
    }
    assert total == sum(map(Decimal, cells.values()))


def check_figures(books: CaseBooks, expected: Mapping[str, Any]) -> None:
    """Check all that a case expects of books."""
    cells: dict[str, str] = expected["cells"]
    check_cells(books, expected, cells)
    assert Decimal(expected["total"]) == sum(map(Decimal, cells.values()))
    if "budget" in expected:
        check_cells(books, expected, expected["budget"], "budget")
    if "labels" in expected:
        of_rows = {cell.split("|")[0] for cell in cells}
        told = {name for key in leaf_dimensions(books) for name in names(books, key).values()}
        assert {name for key, name in expected["labels"].items() if key in of_rows} <= told
    if "range" in expected:
        start, end = expected["range"]["period"]
        found = books.figures(
            metric_of(books, expected), f"{start}..{end}", dimensions=[first_dimension(books, expected)]
        )
        assert {key: found[(key,)] for key in expected["range"]["cells"]} == {
            key: Decimal(text) for key, text in expected["range"]["cells"].items()
        }
    if "by_file" in expected:
        check_by_file(books, expected)


def check_by_file(books: CaseBooks, expected: Mapping[str, Any]) -> None:
    """Check that a dimension tells apart what each of several files holds."""
    wanted: dict[str, dict[str, Decimal]] = {}
    for cell, text in expected["by_file"].items():
        file, _, rest = cell.partition("|")
        wanted.setdefault(file, {})[rest] = Decimal(text).normalize()
    for key in (key for key in leaf_dimensions(books) if key not in expected["dimensions"]):
        given = {"metrics": [metric_of(books, expected)], "dimensions": [key, *expected["dimensions"]]}
        answer = books.fed.ask(
            "run_metric", scenarios=[{"scenario": "actual"}], **bounds(period_of(expected["cells"])), **given
        )
        found: dict[str, dict[str, Decimal]] = {}
        for row in (row for row in answer["rows"] if row["members"]):
            member, *rest = row["members"].values()
            if (figure := number(row["values"][0])) is not None:
                found.setdefault(member, {})["|".join(rest)] = figure.normalize()
        if sorted(map(repr, map(sorted, (each.items() for each in found.values())))) == sorted(
            map(repr, map(sorted, (each.items() for each in wanted.values())))
        ):
            return
    pytest.fail("no dimension tells the files apart")


@pytest.mark.parametrize("case", parameters("files", EXPECTED, FILES))
def test_init_makes_of_a_file_what_it_holds(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = EXPECTED[case]
    if (GROUP / case / "instance").is_dir():
        check_figures(CaseBooks(copy_case(GROUP / case / "instance", tmp_path)), expected)
        COUNTS["right"].append(case)
        return
    files = [Path(shutil.copy(path, tmp_path)) for path in sorted((GROUP / case).iterdir()) if path.name not in OWN]
    answers = GROUP / case / "answers.yaml"
    books = tmp_path / "proposed" / "books"
    books.parent.mkdir()
    given = answers.read_text(encoding="utf-8") if answers.exists() else GIVEN.get(case, "")
    status = initialised(books, *files, answers=given)
    told = capsys.readouterr().err
    count = COUNTS[{DONE: "right", ASKS: "asked"}.get(status, "refused")]
    if status == ASKS:
        assert not books.exists(), "a question writes nothing"
        assert case in QUESTIONS, told
        assert f"  #- {QUESTIONS[case]}   # " in told
        assert initialised(books, *files, answers=answered(files[0].name, QUESTIONS[case], given)) == DONE
    if status != REFUSES and expected["cells"]:
        check_figures(CaseBooks(books), expected)
    else:
        assert not books.exists(), "a refusal writes nothing"
        assert status == REFUSES
        assert re.search(REFUSALS.get(case, "(?!)"), told), told
    count.append(case)


def answered(file: str, answer: str, given: str) -> str:
    """Return answers with that of a question among them."""
    files = (yaml.safe_load(given) or {}).get("files", {}) if given else {}
    return yaml.safe_dump(
        {"files": {**files, file: [*([files[file]] if file in files else []), yaml.safe_load(answer)]}}
    )


@pytest.fixture(scope="module", autouse=True)
def _counts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print how many files are right at once, asked about and refused."""
    yield
    says = "; ".join(f"{len(cases)} {how}" for how, cases in COUNTS.items())
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nfiles: {says}")  # noqa: T201 - the count is what this test is read for
