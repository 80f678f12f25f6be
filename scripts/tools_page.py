"""Writes docs/tools.md: every tool as it is advertised, with a call made on the demo books and what came back.

Answers are shortened, and what no two calls share (references, times, versions) is a placeholder, so that the page
stays the same until a tool or the demo changes.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benches.books import demo_books
from engine.books.absence import SEARCH_NOTES
from engine.model.errors import Refusal
from engine.model.notes import NOTES
from server.base.notes import SERVER_NOTES
from server.tools.tool import Tool
from server.tools.toolbox import TOOLS
from tests.support.books.demo import ROWS
from tests.support.service.servers import connected, serving

PAGE = Path(__file__).parents[1] / "docs" / "tools.md"
HEAD = """# The tools

This page lists every tool in the order in which clients see it, each with a call on the demo books and its answer. `…`
stands for what is left out or differs from call to call. `make docs` writes this page. A call that cannot be answered
returns `{error, error_type, …}` with what would be valid; see [Errors](#errors).
"""
READING = """## How a report reads

A report says each thing once.

- A statement has `columns` and `rows`; the `values` of a row are aligned with the columns. A report of metrics has
  `metrics`, `scenarios`, `dimensions` and `rows`; the `values` of a row run metric by metric, and within a metric
  scenario by scenario. The total is the last row and has no `key`; in a statement it is the column with `is_total`.
  Over periods the `label` of a total of balances says which close it is: `Total (balances: close of Apr 2026)`.
  Sub-totals over periods keep the label of their member; they are at the same close.
- With `materiality`, `immaterial` counts the lines that are left out: by `unit`, or `below` a node with the `sum` of
  what they count for in it, with the `largest` and its `value` in the column that is tested. A `member` of `by` is a
  row one level below its line, with the key `line/member`; `others` hold the rest (`holds`).
- **Left out** where they are: level 0; the kinds `metric`, `formula`, `node`, `own` and the `member` of metrics; a unit
  that is the currency of the report at its `scale`; `favourable` up, or of a
  line of level 1 and above that of the line before; `scale` 0; `into_parent`
  1; a label equal to its key and the label of a period whose code says it; an `alias` equal to its `scenario`; the
  first and last day of a period whose codes say them; empty notes. Headers have no values.
- `favourable` of a line whose totals are negative is `less negative` or `more negative` in place of up or down.
  `variance_unit` is that of the differences of a line of percents: `pp`, in which 0.05 is 5.
- A figure is a number if every parser reads it exactly, else its digits as text; `null` is a blank.
- `freshness` has the last period loaded by domain and scenario; an object where a period of the range is `open` or rows
  are `undated`, with `undated_amount`. `period_start: (undated)` shows such rows alone.
- `summary: true` leaves totals, notes and `data_ref`: lines of level 0, without members, drill and freshness.
- `_meta` has the rest for programs: versions, loads and the schema of the dataset (`tieout/details`); with
  `run_statement`, `run_metric` and `inspect_rows` also the formatted table that a widget draws (`tieout/table`). The
  table has the rows of the text and, while there is room, more: at most 1,000 rows and 1.5 MB, then `left_out` counts
  the rest. A result exported as JSON has all of it.

**The rows behind a cell.** `drill` is the call behind it, with placeholders.

1. Fill each `{part.field}` from the cell's row, column, metric or scenario. A key whose placeholder has no value
   there, as for a total, is left out.
2. Join the own `drill` of the column or scenario, of the row and of the metric, in this order. Later parts win;
   `filters` are joined by key. A row or metric with `drill: null` has no rows to show.
3. A column `var(a,b)` or `var_pct(a,b)` takes one call with `scenario_id` a and one with b, which is subtracted. Make
   one call for each of `sides`, subtracting those with the `sign` `-`, and one for each of `operands` of the row
   or metric: a text is the filter `metric`, an object is joined.
"""
Json = Mapping[str, Any]
Examples = Mapping[str, Json]  # a call of each tool, as its description tells it
Ask = Callable[[str, Json], Json]  # a tool and its arguments to its answer

SHOWN_ITEMS = 2
SHOWN_VALUES = 8
WIDTH = 110
SHOWN_CHARACTERS = 240
DIFFER = {
    *("catalogue_version", "data_version", "data_ref", "data_refs", "load_id", "file_id", "upload_id"),
    *("download_url", "upload_url", "sha256", "size_bytes", "seconds"),
}
LONG = {"vega_lite"}
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")
LEFT_OUT = "…"
BEYOND = """## Beyond the specification

What the service understands and says beyond its specification. All of it is optional.

- **Names of members.** A filter looks its members up by id, then code, then name, without regard to case, accents and
  spaces, among the members that `search_hierarchy` returns to this caller. The result shows the id and has the note
  `resolved`. A name of several members is refused with their ids. An unknown name matches nothing; its note
  `unknown_member` has `did_you_mean`, as has `unknown_scenario`.
- **Exclusions.** A filter takes `{"exclude": [members]}` and keeps the others; `(unassigned)` stays unless it is named.
  With `"include": [members]` it keeps the others of those. A hierarchy weighs what is left as it does in a total.
- **Sub-totals.** `subtotals` adds a row above each group of a breakdown by two or more dimensions (in a statement a
  column). It has the `members` of the first dimensions alone; the rows below it follow with a `level` of 1 or more,
  without the `labels` that it says. It is a figure of its own, as the total is, so a ratio is that of its sums. Their
  `into_parent` is the weight in the row above. Add up the deepest rows alone; the dataset tells them by
  `breakdown_level`. An answer that is cut loses the deepest rows first.
- **Rankings.** `order_by`, `asc` and `top` of `run_metric` rank the members of the first dimension. Members without a
  figure come last, equal ones in the order of their ids. One row `(others)` holds the members that `top` leaves out,
  computed as a total is: a ratio is the ratio of the remaining sums, a distinct count counts what remains. Its `holds`
  says how many members with rows it stands for. Members that share leaves have no `(others)`: `top` is refused. With
  `subtotals` every group is ranked, and has its own `(others)`. An answer that is cut keeps the largest members, and a
  note says by what. Of periods, `(others)` is the figure of the other periods together; balances are counted alone.
- **Parts of a variance.** `totals` of a list of `explain_variance` has volume, mix and price, or rate and mix, of all
  its rows together; they add up to its variance.
- **Periods.** `2026-9`, `Sep 2026`, `Q3 2026`, `FY2026`, `5 Sep 2026` and the like stand for the code that the result
  shows. A spelling that can mean two periods is refused with both: `Q3 2026` where the fiscal year is not the calendar
  year. `last_closed` is the last closed period of the first scenario of the call that has one, the earliest of the
  domains that the call reads; `last_closed-1` is the one before. Its grain is that of the other bound, else the month.
  A filter on time takes it too, at the grain of its dimension, and so does `list_load_history`, for the domains that
  the feeds it lists fill.
- **Notes on blanks.** Each null of a report is covered by exactly one note of `unavailable`, `not_computable`,
  `no_window`, `outside_books`, `not_loaded`, `open_period`, `incomplete_close`, `no_share`, `no_rank`, `no_others`,
  `no_divisor` and `no_rows`. docs/figures.md has them. An answer has one note of each code.
- **Operands that are not known.** A formula is blank if an operand is not loaded there, and the note names it in
  `operands`. In an open period the operand counts as 0: `open_period` with `operands` stands on figures that are there.
- **Search.** `search_hierarchy` passes over `offset` hits of each section; `next_offset` is that of the next page. A
  query without `dimension` also finds metrics and statements. Close spellings are tried only if no member, node, metric
  or statement has the query as written. A list of up to 20 names is searched name by name, 5 hits of each kind unless
  `limit` says otherwise, and has no next page; each hit has the `query` that it is of. Words that no name has together
  (`IT Corvane Pumpen`) are read as the fewest names that have them, one after the other: `several_names`. What is not
  found has the note `nothing_found`, which says what was looked through, or `named_elsewhere`; what the instance says
  it does not hold has `not_held`.
- **Terms.** Words of the instance's own stand for metrics, statements and members wherever these are named. One of
  several readings is refused with all of them; `search_hierarchy` lists them in `terms`, each with what it `means`.
- **Formulas.** `formulas` of `run_metric` adds columns: names of metrics, those of another domain as `people.heads` and
  lines as `pnl.gross_profit`, decimal numbers, `+ - * /` and parentheses, `min(a, b)`, `max(a, b)`, `abs(a)`,
  `round(a, places)`, `if(a > b, x, y)`, `days(period)` and `periods(period)`, and names with members of their own in
  braces (`sales{region: EU}`) and a scenario or steps of their own in brackets (`sales[budget]`, `sales[@fy]`). They
  follow the rules of the catalogue's own formulas: exact figures, one division, blanks and units. At most 10, each of
  500 characters and 20 levels; a constant has at most 30 digits and no exponent. A refusal names the character at
  fault.
- **Computing on kept results.** `eval_chart_transform` takes a script, a chart or both. A script alone returns the rows
  that it leaves, at most 200 and within the budget; `data_ref` holds all of them. Scripts compute in floats: the answer
  says `computed: true`, has the note `script_figures` and no `drill`, and only columns that came through unchanged have
  a unit. A chart alone draws a result as it is: of a report the members without the totals, of an explained variance
  the first list.
- **Pictures.** `picture: true` of `eval_chart_transform` and `explain_variance` returns the chart as image content: a
  PNG, at most 1,200 pixels wide and 500 kB long. Its Vega-Lite specification, with the points, stands in `_meta`
  (`tieout/details`) then. What cannot be drawn says so in the note `not_drawn`.
- **Two dimensions of time.** `dimensions: ["year", "month_of_year"]` or `["trading_period", "month"]`: name them one
  after the other, and no more than two. A cell has the days of both periods; `subtotals` adds the totals of the first.
  Where two calendars cut each other's periods, a shifted scenario is refused.
- **Months and days.** `month` breaks a range of any grain down by months, or by the periods of the calendar table;
  `period` keeps the grain of the range. `day` is understood as `date`.
- **Repairs.** `valid` and `did_you_mean` of a refusal hold values for `field`, in the form in which the call takes
  them. `example` holds arguments that mend the call in place of those that were sent, and means what was asked where
  that can be read. `retryable` is there only if the same call may succeed later. Aliases and values of filters have at
  most 200 characters.
"""
NEXT: Mapping[str, Callable[[Mapping[str, Json]], Json]] = {  # what is made of the answers to earlier calls
    "list_variants": lambda _: {"scenario_id": "budget"},
    "get_inspection_schema": lambda told: {"source_key": told["list_inspection_sources"]["sources"][0]["source_key"]},
    "get_binding": lambda told: {"binding_id": told["list_bindings"]["bindings"][0]["binding_id"]},
    "get_load_status": lambda told: {"load_id": told["list_load_history"]["loads"][0]["load_id"]},
    "eval_chart_transform": lambda told: {"data_refs": [told["run_metric"]["data_ref"]]},
    "export_dataset": lambda told: {"data_ref": told["run_statement"]["data_ref"], "format": "xlsx"},
    "get_file_download": lambda told: {"file_id": told["export_dataset"]["file_id"]},
}
INTERNAL = "The service failed. Its log has the cause under the `error_id` of the answer."
MISTAKE = ("run_metric", {"metrics": ["revenu"], "period_start": "2026-13"})


def page(ask: Ask, examples: Examples) -> str:
    """Return the page, of a server of the demo with the examples that it tells."""
    told: dict[str, Json] = {}
    parts = [HEAD]
    for tool in TOOLS.values():
        twin = next((known for known in told if TOOLS[known].run is tool.run), None)
        if twin:
            parts.append(
                f"## {tool.name}\n\n{tool.description}\n\nArguments and answer are those of [{twin}](#{twin}).\n"
            )
            continue
        called = arguments(tool, told, examples)
        told[tool.name] = ask(tool.name, called)
        parts.append("\n".join(section(tool, called, told[tool.name])))
    parts += ["\n".join(errors(ask)), "\n".join(notes()), READING, BEYOND]
    return "\n".join(parts)


def arguments(tool: Tool, told: Mapping[str, Json], examples: Examples) -> Json:
    """Return the arguments of the call that is shown."""
    example = examples.get(tool.name, {})
    return {**example, **NEXT[tool.name](told)} if tool.name in NEXT else example


def section(tool: Tool, called: Json, answer: Json) -> Iterator[str]:
    """Yield the lines of one tool."""
    yield f"## {tool.name}\n"
    yield f"{tool.description}\n"
    fields = tool.schema.get("properties", {})
    if fields:
        yield "| Argument | Type | Meaning |"
        yield "|---|---|---|"
        yield from rows_of(tool.schema)
        yield ""
    if called:
        yield from block(masked(called))
    yield from block(shortened(masked(answer)))


def rows_of(schema: Json, within: str = "") -> Iterator[str]:
    """Yield a row for each argument, and for each part of one that is an object."""
    for name, known in schema["properties"].items():
        needed = " (required)" if name in schema.get("required", ()) else ""
        yield f"| `{within}{name}`{needed} | {kind_of(known)} | {cell(known.get('description', ''))} |"
        if "properties" in known:
            yield from rows_of(known, f"{within}{name}.")


def errors(ask: Ask) -> Iterator[str]:
    """Yield the lines that show a refusal."""
    tool, called = MISTAKE
    yield "## Errors\n"
    yield f"A call of `{tool}` with a misspelled metric gets a refusal instead of figures.\n"
    yield from block(called)
    yield from block(shortened(masked(ask(tool, called))))
    yield "### Types of errors\n"
    yield "`retryable` marks those after which the same call may succeed later.\n"
    yield "| `error_type` | What it says |"
    yield "|---|---|"
    for kind, refusals in sorted(error_types().items()):
        said = f"{refusals[0].__doc__}".partition("\n")[0]
        yield f"| `{kind}` | {cell(said)}{' `retryable`' if refusals[0].retryable else ''} |"
    yield f"| `internal` | {INTERNAL} |"
    yield ""


def error_types() -> dict[str, list[type[Refusal]]]:
    """Return the refusals of each error type."""
    kinds: dict[str, list[type[Refusal]]] = {}
    waiting = [Refusal]
    while waiting:
        for refusal in waiting.pop().__subclasses__():
            kinds.setdefault(refusal.error_type, []).append(refusal)
            waiting.append(refusal)
    return kinds


def notes() -> Iterator[str]:
    """Yield the lines that list the notes."""
    yield "## Notes\n"
    yield "An answer has one note of each code. A `caution` may change what a reader of the figures concludes.\n"
    yield "| `code` | Severity | Message |"
    yield "|---|---|---|"
    for code, wording in sorted({**NOTES, **SEARCH_NOTES, **SERVER_NOTES}.items()):
        yield f"| `{code}` | {wording.severity.value} | {cell(wording.sentence)} |"
    yield ""


def block(value: Json) -> Iterator[str]:
    """Yield a JSON value as a block, what is short on one line."""
    yield "```json"
    yield from laid_out(value, "")
    yield "```\n"


def laid_out(value: object, indent: str, head: str = "") -> Iterator[str]:
    """Yield JSON by lines: whatever fits one stays on it."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent + head + flat) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield f"{indent}{head}{flat}"
        return
    opens, closes = "{}" if isinstance(value, dict) else "[]"
    pairs = value.items() if isinstance(value, dict) else (("", item) for item in value)
    yield f"{indent}{head}{opens}"
    for at, (key, item) in enumerate(pairs, 1):
        *before, last = laid_out(item, indent + "  ", f"{json.dumps(key)}: " if key else "")
        yield from before
        yield last + ("," if at < len(value) else "")
    yield f"{indent}{closes}"


def masked(value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON to the same
    """Return JSON with placeholders for what differs from call to call."""
    if key in DIFFER and value is not None:
        return [f"ds_{LEFT_OUT}" for _ in value] if key == "data_refs" else LEFT_OUT
    if isinstance(value, dict):
        return {name: masked(part, name) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [masked(part) for part in value]
    return LEFT_OUT if isinstance(value, str) and INSTANT.fullmatch(value) else value


def shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON to the same, shorter
    """Return JSON with long texts and lists cut short, but for short lists of plain values."""
    if isinstance(value, dict):
        return {name: LEFT_OUT if name in LONG else shortened(part) for name, part in value.items()}
    if isinstance(value, list):
        shown = len(value) if is_row(value) else SHOWN_ITEMS
        more = [f"{LEFT_OUT} {len(value) - shown} more"] if len(value) > shown else []
        return [*map(shortened, value[:shown]), *more]
    return value[:SHOWN_CHARACTERS] + LEFT_OUT if isinstance(value, str) and len(value) > SHOWN_CHARACTERS else value


def is_row(value: list[Any]) -> bool:
    """Tell whether a list is short and of plain values."""
    return len(value) <= SHOWN_VALUES and not any(isinstance(part, dict | list) for part in value)


def kind_of(known: Json) -> str:
    """Return a type as readers say it."""
    if "enum" in known:
        return " or ".join(f"`{choice}`" for choice in known["enum"])
    if "anyOf" in known:
        return " or ".join(kind_of(choice) for choice in known["anyOf"])
    if known.get("type") == "array":
        return f"list of {kind_of(known['items'])}s"
    kind: str = known.get("type", "any")
    return {"integer": "whole number", "string": "text"}.get(kind, kind)


def cell(words: str) -> str:
    """Return words as a cell of a table."""
    return words.replace("|", "\\|")


def main() -> None:
    """Write the page, of a server of the demo as the tests load it."""
    books = demo_books(ROWS)
    with serving(books.instance, books.state) as server, connected(server.url, "auto") as client:
        PAGE.write_text(
            page(lambda tool, called: client.call(tool, **called).result, client.examples()), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
