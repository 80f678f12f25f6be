"""Refusals and absences of books that nobody here made, read as a model reads them: the call that they mend answers.

A refusal is mended by what it says alone: its `example` if it has one, else the first name of `did_you_mean`, else of
`valid`, at its field. So is a note on a name that matches nothing. An absence says where there are rows, and the call
for these answers. The figures are those of DuckDB over the same files.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from engine.instance.read import STATE
from tests.doors.case_books import CASES
from tests.support.books.loads import ADVENTUREWORKS, DATA, OXFORD, ROOT, load_feeds, needs
from tests.support.service.servers import McpBooks, connected, serving

Json = Mapping[str, Any]
TATQA = DATA / "public" / "tatqa"
ACTUAL = {"scenarios": [{"scenario": "actual"}]}
SALES = {"metrics": ["net_sales"], **ACTUAL, "period_start": "2006", "period_end": "2008"}
SPEND = {"metrics": ["spend"], **ACTUAL, "period_start": "2016"}
PAYMENTS = {"source_key": "payments", "scenario_id": "actual", "period_start": "2016-01", "limit": 1}
VALUE = {"metrics": ["value"], **ACTUAL, "period_start": "2019", "filters": {"item": "T000.04"}}
BOUGHT = {"metrics": ["sales"], **ACTUAL, "period_start": "2026"}
NET_SALES = "103072498.59"  # as the README of the set has it
PAID = "SELECT sum(amount) FROM ledger WHERE paid_date BETWEEN '2015-04-01' AND '2016-03-31'"
IN_JANUARY = "SELECT sum(amount) FROM ledger WHERE paid_date BETWEEN '2016-01-01' AND '2016-01-31'"
TOTAL_SALES = "SELECT amount FROM cells WHERE line = 'T000.04' AND year = 2019"


@dataclass(frozen=True)
class BooksElsewhere:
    """An instance with the files of its rows, and where it lies beside the project the folder that must be there."""

    instance: Path
    files: Path
    beside: Path | None = None
    is_copied: bool = False  # because its feeds read files beside it


@dataclass(frozen=True)
class MendedCall:
    """A call that misses, what its refusal or a note says, and the figure of the mended call, or the SQL of it."""

    books: str
    tool: str
    arguments: Json
    says: str
    gold: str


@dataclass(frozen=True)
class FoundNothing:
    """A call that finds nothing, what a note says of it, and a call that finds it with the SQL of its figure."""

    books: str
    tool: str
    arguments: Json
    says: str
    after: Json | None = None
    gold: str = ""


SETS = {
    "AdventureWorks": BooksElsewhere(ROOT / "instances" / "adventureworks", ADVENTUREWORKS, ADVENTUREWORKS),
    "Oxford": BooksElsewhere(ROOT / "instances" / "oxford", OXFORD, OXFORD),
    "TAT-QA": BooksElsewhere(TATQA / "instance", TATQA / "data", TATQA, is_copied=True),
    "threshold": BooksElsewhere(
        CASES / "reports" / "threshold" / "instance", CASES / "reports" / "threshold", is_copied=True
    ),
}
MENDS = [
    MendedCall("AdventureWorks", "run_metric", {**SALES, "metrics": ["net sales"]}, "no metric 'net sales'", NET_SALES),
    MendedCall(
        "AdventureWorks", "run_metric", {**SALES, "period_end": "2008-06"}, "Give both bounds at one grain", NET_SALES
    ),
    MendedCall(
        "AdventureWorks", "run_metric", {**SALES, "scenarios": [{"scenario": "actuals"}]}, "left out", NET_SALES
    ),
    MendedCall(
        "AdventureWorks",
        "run_metric",
        {**SALES, "dimensions": ["organisation"], "order_by": "sales"},
        "order_by 'sales' is no column of this call",
        NET_SALES,
    ),
    MendedCall("Oxford", "run_metric", {**SPEND, "metrics": ["spending"]}, "Did you mean 'spend'", PAID),
    MendedCall("Oxford", "inspect_rows", {**PAYMENTS, "amount": {"min": 9e9, "max": -9e9}}, "no row lies", IN_JANUARY),
    MendedCall(
        "Oxford",
        "inspect_rows",
        {**PAYMENTS, "count_by": ["spend_type"], "summary": True},
        "summary shows no groups",
        IN_JANUARY,
    ),
    MendedCall("Oxford", "inspect_rows", {**PAYMENTS, "order_by": "value"}, "no 'value' to order by", IN_JANUARY),
    MendedCall("Oxford", "inspect_rows", {**PAYMENTS, "count_by": ["amount"]}, "and no amounts", IN_JANUARY),
    MendedCall("TAT-QA", "run_metric", {**VALUE, "metrics": ["amount"]}, "list_kpis lists the metrics", TOTAL_SALES),
    MendedCall("TAT-QA", "run_metric", {**VALUE, "period_start": "2019-03"}, "Ask by year", TOTAL_SALES),
    MendedCall("TAT-QA", "run_metric", {**VALUE, "filters": {"line": "T000.04"}}, "no dimension 'line'", TOTAL_SALES),
    MendedCall("TAT-QA", "run_metric", {**VALUE, "filters": {"item": ["T000.4"]}}, "matches nothing", TOTAL_SALES),
    MendedCall("threshold", "run_metric", {**BOUGHT, "metrics": ["revenue"]}, "no metric 'revenue'", "5720"),
    MendedCall("threshold", "run_metric", {**BOUGHT, "filters": {"client": "c1"}}, "no dimension 'client'", "1500"),
    MendedCall(
        "threshold",
        "run_metric",
        {**BOUGHT, "dimensions": ["customer"], "having": [{"column": "amount", "min": 1001}]},
        "'amount' is no column of this call",
        "5720",
    ),
    MendedCall(
        "threshold",
        "run_metric",
        {**BOUGHT, "dimensions": ["customer"], "having": [{"column": "sales"}]},
        "A condition needs min, max or is",
        "5720",
    ),
    MendedCall("threshold", "run_metric", {**BOUGHT, "period_start": "this year"}, "is no period code", "5720"),
    MendedCall(
        "threshold",
        "run_metric",
        {**BOUGHT, "formulas": {"x": "turnover{customer: c1} * 2"}},
        "no metric 'turnover'",
        "5720",
    ),
]
ABSENCES = [
    FoundNothing("AdventureWorks", "search_hierarchy", {"query": "overdue"}, "inspect_rows takes text for the column"),
    FoundNothing(
        "AdventureWorks",
        "run_metric",
        {**SALES, "scenarios": [{"scenario": "budget"}], "filters": {"entity": "France"}},
        "budget of finance has no rows of net_sales of entity '11' in 2005-07 to 2008-06",
    ),
    FoundNothing(
        "Oxford",
        "run_metric",
        {**SPEND, "filters": {"service_area": "ICT"}},
        "It has rows in 2014-03.",
        {**SPEND, "filters": {"service_area": "ICT"}, "period_start": "2014-03"},
        "SELECT sum(amount) FROM ledger WHERE service_area = 'ICT'",
    ),
    FoundNothing(
        "Oxford",
        "run_metric",
        {**SPEND, "dimensions": ["service_area"], "filters": {"service_area": ["ICT", "Funding"]}},
        "'ICT' (rows in 2014-03)",
        {**SPEND, "filters": {"service_area": ["Funding"]}},
        f"{PAID} AND service_area = 'Funding'",
    ),
    FoundNothing(
        "TAT-QA", "run_metric", {**VALUE, "period_start": "2016"}, "It has rows in 2017 to 2019", VALUE, TOTAL_SALES
    ),
    FoundNothing("TAT-QA", "search_hierarchy", {"query": "zymurgy"}, "that this caller sees holds 'zymurgy'."),
    FoundNothing(
        "threshold", "search_hierarchy", {"query": ["c1", "c9"]}, "that this caller sees holds 'c9'.", BOUGHT, "5720"
    ),
    FoundNothing(
        "threshold",
        "run_metric",
        {**BOUGHT, "period_start": "2026-02", "filters": {"customer": "c1"}},
        "outside the loaded periods of actual in gl, 2026-01-03 to 2026-01-09",
        {**BOUGHT, "period_start": "2026-01", "filters": {"customer": "c1"}},
        "1500",
    ),
]


@pytest.fixture(scope="module")
def books(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of one of the sets."""
    known, folder = SETS[request.param], tmp_path_factory.mktemp("books")
    if known.beside:
        needs(known.beside)
    instance = known.instance
    if known.is_copied:
        instance = Path(shutil.copytree(known.instance.parent, folder / "books")) / known.instance.name
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADVENTUREWORKS", str(ADVENTUREWORKS))
        patch.setenv("OXFORD_SPEND", str(OXFORD))
        load_feeds(instance, folder / STATE)
    with serving(instance, folder / STATE) as server, connected(server.url, "auto") as client:
        yield client


def gold_of(books: str, gold: str) -> Fraction:
    """Return a figure, or that of SQL over the files of some books."""
    if not gold.startswith("SELECT"):
        return Fraction(gold)
    database = duckdb.connect()
    for path in sorted(SETS[books].files.glob("*.csv")):
        amounts = "types = {'amount': 'DECIMAL(18,3)'}" if path.stem in ("ledger", "cells") else ""
        options = ", ".join(filter(None, (f"'{path}'", "header = true", amounts)))
        database.execute(f"CREATE TABLE {path.stem} AS FROM read_csv({options})")
    ((figure,),) = database.sql(gold).fetchall()
    return Fraction(figure)


def figure_of(answer: Json) -> Fraction:
    """Return the figure of a total, or the sum of the rows of a source."""
    figure = answer["sums"]["amount"]["sum"] if "sums" in answer else answer["rows"][-1]["values"][0]
    return Fraction(str(figure))


def mended(arguments: Json, said: Json) -> Json:
    """Return the arguments of a call as a refusal or a note mends them: by its example, or by the first valid name."""
    if "example" in said:
        return {**arguments, **said["example"]}
    got = said.get("got") or said["message"].split("'")[1]
    name = [*said.get("did_you_mean", ()), *said.get("valid", ())][0]
    written, meant = json.dumps(got), json.dumps(name if isinstance(got, str) else [name])
    text = json.dumps(arguments)
    again: Json = json.loads(text.replace(written, meant) if written in text else text.replace(got, name))
    return again


@pytest.mark.parametrize(
    ("books", "mend"), [(mend.books, mend) for mend in MENDS], ids=[mend.says for mend in MENDS], indirect=["books"]
)
def test_what_a_refusal_says_mends_its_call(books: McpBooks, mend: MendedCall) -> None:
    called = books.call(mend.tool, **mend.arguments)
    said = called.result if called.is_error else next(each for each in called.result["notes"] if "did_you_mean" in each)
    assert mend.says in said["error" if called.is_error else "message"]
    answer = books.ask(mend.tool, **mended(mend.arguments, said))
    assert not [note for note in answer.get("notes", ()) if "did_you_mean" in note]
    assert figure_of(answer) == gold_of(mend.books, mend.gold)


@pytest.mark.parametrize(
    ("books", "absence"),
    [(absence.books, absence) for absence in ABSENCES],
    ids=[absence.says for absence in ABSENCES],
    indirect=["books"],
)
def test_an_absence_says_where_there_are_rows(books: McpBooks, absence: FoundNothing) -> None:
    answer = books.ask(absence.tool, **absence.arguments)
    assert any(absence.says in note["message"] for note in answer["notes"])
    if absence.after is not None:
        assert figure_of(books.ask("run_metric", **absence.after)) == gold_of(absence.books, absence.gold)
