"""Each question of docs/questions.md is asked over HTTP, and answered with what DuckDB computes from the same files.

A section of the page names the folder of its books and may begin with SQL that makes views of their files. Under each
question stand its calls, one line of JSON each, and the SQL of what the last one answers: the columns `row`, `row2` …
are the members or the key of a row, all others its figures, column by column; `ratio(a, b)` is an exact fraction. A
column `says` has texts that notes of the answer hold. Calls before the last may be refused; each says what mends it.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from statistics import mean
from typing import Any

import duckdb
import pytest

from benches.tokens import TYPICAL, counted
from engine.instance.read import STATE
from server.stores.memory import REFERENCE
from tests.support.answers.reader import filled_in
from tests.support.books.loads import DATA, ROOT, load_feeds
from tests.support.service.servers import Called, McpBooks, connected, serving

PAGE = ROOT / "docs" / "questions.md"
LOOKUPS = ("search_hierarchy", "list_kpis", "list_scenarios", "list_dimensions", "svc_orientation")
PUBLIC = {"TAT-QA, which lies beside the project": DATA / "public" / "tatqa"}
SCRIPTS = ("eval_chart_transform",)
MAX_CALLS = Decimal("1.3")  # a question, on average, calls that look up names included
MAX_TOKENS = 700  # of all answers to a question, on average
SHORTER, LONGER = Fraction(9, 10), Fraction(51, 50)  # than the page says: answers of another version differ a little
DIGITS = Fraction(1, 10**14)  # relative; a figure without an end is told in 15 digits
Row = tuple[tuple[str, ...], tuple[Fraction | None, ...]]


@dataclass(frozen=True)
class PageQuestion:
    """A question of the page, its calls, the SQL of its answer, and the SQL of what notes say."""

    text: str
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    gold: Sequence[str]
    says: Sequence[str]


@dataclass(frozen=True)
class PageSection:
    """Questions of the same books: the folder of their instance and files, the SQL of views of these, their tokens."""

    title: str
    folder: Path
    views: str
    questions: Sequence[PageQuestion]
    tokens: int  # of all answers


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def call_of(line: str) -> tuple[str, Mapping[str, Any]]:
    """Return the tool and the arguments of a call."""
    ((tool, arguments),) = json.loads(line).items()
    return tool, arguments


def section_of(text: str) -> PageSection:
    """Return a section of the page."""
    head, *questions = text.split("\n### ")
    (told,) = re.findall(r"^Books: (.*)\.$", head, re.MULTILINE)
    linked = re.search(r"\]\((.*)\)", told)
    (tokens,) = re.findall(r"^Answers: ([\d,]+) tokens\.$", head, re.MULTILINE)
    return PageSection(
        title=head.splitlines()[0],
        folder=PAGE.parent / linked[1] if linked else PUBLIC[told],
        views="".join(blocks(head, "sql")),
        questions=[question_of(question) for question in questions],
        tokens=int(tokens.replace(",", "")),
    )


def question_of(text: str) -> PageQuestion:
    """Return a question of the page."""
    queries = blocks(text, "sql")
    return PageQuestion(
        text=text.splitlines()[0],
        calls=[call_of(line) for block in blocks(text, "json") for line in block.splitlines()],
        gold=[query for query in queries if " AS says" not in query],
        says=[query for query in queries if " AS says" in query],
    )


SECTIONS = [section_of(text) for text in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]]
QUESTIONS = [question for section in SECTIONS for question in section.questions]


def type_of(cells: Sequence[str]) -> str:
    """Return the type of a column in SQL: decimals keep their places."""
    if all(re.fullmatch(r"\d{4}-\d\d-\d\d", cell) for cell in cells):
        return "DATE"
    if all(re.fullmatch(r"-?\d+(\.\d+)?", cell) for cell in cells):
        return f"DECIMAL(18,{max(len(cell.partition('.')[2]) for cell in cells)})"
    return "VARCHAR"


def tables_of(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a database whose tables are the CSV files of some books."""
    database = duckdb.connect()
    database.execute("CREATE MACRO ratio(a, b) AS CASE WHEN b <> 0 THEN a || '/' || b END")
    for path in sorted(folder.glob("**/data/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = list(csv.reader(file))
        columns = {name: type_of([row[at] for row in rows if row[at]]) for at, name in enumerate(head)}
        database.execute(
            f"CREATE TABLE {path.stem} AS FROM read_csv($file, header = true, columns = $columns)",
            {"file": str(path), "columns": columns},
        )
    return database


def fraction(cell: object) -> Fraction | None:
    """Return a figure that SQL computes: a number, a ratio, or a sum of ratios."""
    if cell is None:
        return None
    parts = [part.partition("/") for part in str(cell).split("+")]
    return sum((Fraction(over) / Fraction(under or 1) for over, _, under in parts), Fraction(0))


def gold_of(database: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """Return the rows that SQL computes; a row without members is the total."""
    answered = database.sql(query)
    keys = [at for at, name in enumerate(answered.columns) if name.startswith("row")]
    return [
        (
            tuple(str(row[at]) for at in keys if row[at] is not None) or ("total",),
            tuple(fraction(cell) for at, cell in enumerate(row) if at not in keys),
        )
        for row in answered.fetchall()
    ]


def rows_of(answer: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of an answer: of a report, a statement, an explained variance, a search, or inspected rows."""
    if "hierarchy_nodes" in answer:
        yield from (((hit["dimension"], hit["id"]), ()) for hit in (*answer["records"], *answer["hierarchy_nodes"]))
        return
    if "source_key" in answer:
        yield from inspected_rows(answer)
        return
    for row in answer["lists"][0]["rows"] if "lists" in answer else answer["rows"]:
        if row.get("kind") != "header":
            members = tuple(row.get("members", {}).values()) or (row["key"],)
            figures = row["values"] if "values" in row else [row["contribution"]]
            yield members, tuple(None if figure is None else Fraction(str(figure)) for figure in figures)
    for part, figure in answer.get("lists", [{}])[0].get("totals", {}).items():
        yield (f"total of {part}",), (Fraction(str(figure)),)


def inspected_rows(answer: Mapping[str, Any]) -> Iterator[Row]:
    """Yield inspected rows by their texts; of a summary, the number of rows with the sums of each column."""
    if "columns" not in answer:
        for column, sums in answer["sums"].items():
            each = (sums[name] for name in ("sum", "positive", "negative"))
            yield (column,), tuple(Fraction(str(figure)) for figure in (answer["total_rows"], *each))
        return
    is_number = [column["type"] == "number" for column in answer["columns"]]
    for row in answer["rows"]:
        texts = [cell or "" for cell, numeric in zip(row, is_number, strict=True) if not numeric]
        figures = [Fraction(str(cell)) for cell, numeric in zip(row, is_number, strict=True) if numeric]
        yield tuple(texts), tuple(figures)


def is_equal(told: Fraction | None, gold: Fraction | None) -> bool:
    """Tell whether a figure is what SQL computes, in all digits of an answer."""
    return told == gold if told is None or gold is None else abs(told - gold) <= abs(gold) * DIGITS


def lacking(database: duckdb.DuckDBPyConnection, question: PageQuestion, answer: Mapping[str, Any]) -> Sequence[str]:
    """Return the texts that SQL makes and no note of an answer holds."""
    messages = [note["message"] for note in answer.get("notes", ())]
    texts = [text for query in question.says for (text,) in database.sql(query).fetchall()]
    assert len(texts) >= len(question.says)
    return [text for text in texts if not any(text in message for message in messages)]


def is_answered(database: duckdb.DuckDBPyConnection, question: PageQuestion, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer has the rows and figures of the SQL, and notes with its texts."""
    told = list(rows_of(answer))
    golds = [gold_of(database, query) for query in question.gold]
    return not lacking(database, question, answer) and all(
        [row for row, _ in told] == [row for row, _ in gold]
        and all(
            len(ours) == len(theirs) and all(map(is_equal, ours, theirs))
            for (_, ours), (_, theirs) in zip(told, gold, strict=True)
        )
        for gold in golds or [[]]
    )


def answers_of(question: PageQuestion, client: McpBooks) -> Sequence[Called]:
    """Return what the calls of a question are answered; those before the last may be refused, and name the next try."""
    called = [client.call(tool, **arguments) for tool, arguments in question.calls]
    assert not called[-1].is_error, called[-1].result
    assert all(each.result["valid"] for each in called if each.is_error)
    return called


@pytest.mark.parametrize("section", SECTIONS, ids=[section.title for section in SECTIONS])
def test_the_questions_of_a_section_have_their_answers(section: PageSection, tmp_path: Path) -> None:
    if section.folder in PUBLIC.values() and not DATA.exists():
        pytest.skip("the public sets of questions are not on this machine")
    folder = Path(copytree(section.folder, tmp_path / "books"))
    books = folder / "instance"
    load_feeds(books, books / STATE)
    database = tables_of(folder)
    database.execute(section.views)
    wrong, tokens = [], 0
    with serving(books, books / STATE) as server, connected(server.url, "auto") as client:
        for question in section.questions:
            called = answers_of(question, client)
            tokens += sum(counted(REFERENCE.sub(TYPICAL, each.text)) for each in called)
            if not is_answered(database, question, filled_in(called[-1].result)):
                wrong.append((question.text, called[-1].text))
    assert not wrong
    assert section.tokens * SHORTER <= tokens <= section.tokens * LONGER, f"Answers: {tokens:,} tokens."


def test_a_question_takes_few_calls_few_tokens_and_no_script() -> None:
    tools = [[tool for tool, _ in question.calls] for question in QUESTIONS]
    assert all(tools)
    assert not {tool for calls in tools for tool in calls} & {*SCRIPTS}
    calls = mean(Decimal(len(calls)) for calls in tools)
    tokens = Decimal(sum(section.tokens for section in SECTIONS)) / len(QUESTIONS)
    assert calls <= MAX_CALLS
    assert tokens <= MAX_TOKENS
    told = f"{len(QUESTIONS)} questions take {calls:.2f} calls and {tokens:.0f} tokens of answers each"
    assert told in " ".join(PAGE.read_text(encoding="utf-8").split())
