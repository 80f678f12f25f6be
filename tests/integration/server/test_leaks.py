"""What a caller may not see stays in the books: hundreds of calls of every tool, and every byte that came back.

What the caller sends comes back in refusals, so that it never sends the word that is looked for in what came back.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.answers.workbooks import parts
from tests.support.books.planted import DIGITS, LATE, MOST_SUMMED, SECRET, SEEN_AT_MOST, WORD, planted_instance
from tests.support.checks.depth import DEEP
from tests.support.service.servers import ERAS, McpBooks, Server, connected, serving

CALLS = 1000 if DEEP else 250
SEED = 20_210_105
FIGURES = {str(DIGITS * count)[:8] for count in range(1, MOST_SUMMED + 1)}
BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,](?=\d)")
GARBAGE = ("", " ", "%s", "' or 1=1 --", "../../etc/passwd", "\x00", "\u202egnp", "ZZZ" * 50, "{0}", "nobody", "🂡")
METRICS = ("revenue", "closing", "known", "postings", "products", "largest", "chosen", "share")
VIEWS = ("actual@py", "actual@ytd", "actual+budget")
VARIANCES = ("var(actual,budget)", "var_pct(actual,actual@py)")
SCENARIOS = (
    "actual",
    "actual",
    "budget",
    "budget/fewer",
    "budget/other",
    "actual@py",
    "actual@ytd",
    "actual+budget",
    *VARIANCES,
)
CHARTED = ("run_statement_data", "run_metric_data", "inspect_rows")  # others return the same
CHART = {"chart_type": "horizontal_bar", "title": "T", "x": "at", "y": "n"}
EVERY_ROW = """
print(df.columns)
print(df.rows()[:50])
result = [{'at': str(i), 'n': i, 'every': str(row)[:1500]} for i, row in enumerate(df.rows()[:50])]
"""
NAMES: Mapping[str, tuple[str, ...]] = {  # what is seen and what is hidden of each kind
    "scenario": (*SCENARIOS, f"{WORD}_plan", f"var(actual,{WORD}_plan)"),
    "scenario_id": ("actual", "actual", "budget", "budget/fewer", f"{WORD}_plan", f"{WORD}_plan/{WORD}_variant"),
    "statement": ("pnl", "pnl", f"{WORD}_statement", WORD[:3]),
    "metric": (*METRICS, f"{WORD}_metric"),
    "figure": (*METRICS, "pnl.rolled", "pnl.tree.G", f"pnl.{WORD}_line", f"{WORD}_metric"),
    "dimension": ("product", "tree", "band", "region", "period", f"{WORD}_dim", f"{WORD[:3]}x_dim"),
    "source_key": ("gl", "gl", "gl", f"{WORD}_dom"),
    "binding_id": ("gl", "product", "tree", f"{WORD}_dom", f"{WORD}_dim"),
    "target": ("live.gl", "live.product", f"live.{WORD}_dom", "live.tree"),
    "source_id": ("files", f"{WORD}_source"),
    "load_id": (LATE, "late-2", "late-3"),
    "query": (
        "a",
        "amber",
        "node",
        WORD[:3],
        f"{WORD}_p",
        f"{WORD} node",
        "article",
        "10",
        SECRET[:3],
        "band",
        "unassigned",
    ),
    "column": ("date", "product", "region", "amount", "note", f"{WORD}_amount"),
    "period": ("2020", "2021", "2021-01", "2021-02", "2021-Q1", "2020-W06", "2021-01-05", "never"),
    "status": ("success", "failed_*", "running", "lost"),
    "product": ("A", "B", "N", f"{WORD}_p", f"{WORD}_new", "(unassigned)"),
    "tree": ("Top", "A", "N", "G", "B", "G/(own)", "N/(own)", f"{WORD}_node", f"{WORD}_q", "(unassigned)", "(all)"),
    "band": ("big", "small", f"{WORD}_band", "(unassigned)"),
    "region": ("EU", "US", f"{WORD}_r", "(unassigned)"),
}


class RandomCalls:
    """Random calls, the same in every run."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return a tool and what to call it with, at times with something that it does not take."""
        tool = self._random.choice(sorted(MAKERS))
        arguments = MAKERS[tool](self)
        if self.one_in(15):
            arguments[self._random.choice(sorted(NAMES))] = self._random.choice((*GARBAGE, 10**30, True, None, [[]]))
        return tool, arguments

    def one_in(self, count: int) -> bool:
        """Tell whether something seldom happens."""
        return self._random.randrange(count) == 0

    def name(self, kind: str) -> str:
        """Return a name of a kind, mostly one that is there."""
        return self._random.choice(GARBAGE if self.one_in(12) else NAMES[kind])

    def names(self, kind: str, most: int) -> list[str]:
        """Return some names of a kind, each once."""
        return list(dict.fromkeys(self.name(kind) for _ in range(self._random.randint(1, most))))

    def some(self, **optional: Any) -> dict[str, Any]:
        """Return some of some arguments."""
        return {key: value for key, value in optional.items() if self.one_in(2)}

    def filters(self) -> dict[str, Any]:
        """Return filters."""
        keys = [key for key in ("product", "tree", "band", "region") if self.one_in(4)]
        found: dict[str, Any] = {key: self.names(key, 3) for key in keys}
        return found | ({self.name("dimension"): self.name("product")} if self.one_in(12) else {})

    def times(self) -> dict[str, Any]:
        """Return a range, mostly one with rows."""
        if self.one_in(3):
            return self.some(period_start=self.name("period"), period_end=self.name("period"))
        return {"period_start": "2021-01", "period_end": "2021-03"}

    def report(self) -> dict[str, Any]:
        """Return what statements and metrics have in common."""
        return {
            "filters": self.filters(),
            **self.times(),
            **({} if self.one_in(6) else {"scenarios": [{"scenario": key} for key in self.names("scenario", 4)]}),
            **self.some(scale=self._random.choice((0, 3, 6, 9)), dimensions=self.names("dimension", 2), decimals=2),
        }

    def rows(self) -> dict[str, Any]:
        """Return what rows are asked for by."""
        filters = self.filters()
        filters |= self.some(metric=self.name("figure"))
        filters |= {"compared_with": [self.name("scenario_id")]} if self.one_in(5) else {}
        asked = {"source_key": self.name("source_key"), "scenario_id": self.name("scenario_id"), "filters": filters}
        return {**asked, **self.times(), **({"columns": self.names("column", 3)} if self.one_in(4) else {})}


MAKERS: dict[str, Callable[[RandomCalls], dict[str, Any]]] = {
    "svc_orientation": lambda _: {},
    "list_scenarios": lambda _: {},
    "list_kpis": lambda _: {},
    "list_dimensions": lambda _: {},
    "list_inspection_sources": lambda _: {},
    "list_variants": lambda asking: {"scenario_id": asking.name("scenario_id")},
    "search_hierarchy": lambda asking: asking.some(query=asking.name("query"), dimension=asking.name("dimension")),
    "run_statement": lambda asking: {**asking.report(), **asking.some(statement=asking.name("statement"))},
    "run_statement_data": lambda asking: {**asking.report(), **asking.some(statement=asking.name("statement"))},
    "run_metric": lambda asking: {**asking.report(), "metrics": asking.names("metric", 3)},
    "run_metric_data": lambda asking: {**asking.report(), "metrics": asking.names("metric", 3)},
    "get_inspection_schema": lambda asking: {"source_key": asking.name("source_key")},
    "inspect_rows": RandomCalls.rows,
    "list_load_history": lambda asking: asking.some(
        binding_id=asking.name("binding_id"),
        dataset_id=asking.name("target"),
        period=asking.name("period"),
        status=asking.name("status"),
    ),
    "get_load_status": lambda asking: {"load_id": asking.name("load_id")},
    "list_bindings": lambda asking: asking.some(source_id=asking.name("source_id"), target=asking.name("target")),
    "get_binding": lambda asking: {"binding_id": asking.name("binding_id")},
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of books of which the caller sees a part."""
    instance, state = planted_instance(tmp_path_factory.mktemp("planted"))
    with serving(instance, state) as server:
        yield server


def told_figures(text: str) -> set[str]:
    """Return the hidden figures whose digits a text holds."""
    digits = BETWEEN_DIGITS.sub("", text)
    return {figure for figure in FIGURES if figure in digits}


def figures_of(result: Mapping[str, Any]) -> Iterator[float]:
    """Yield the figures of a report, or of rows, without their signs."""
    rows = [row if isinstance(row, list) else row.get("values", []) for row in result["rows"]]
    for figure in (*(value for row in rows for value in row), result.get("contribution_total")):
        if isinstance(figure, int | float):
            yield abs(figure)


def is_of_what_is_seen(figure: float, scale: int) -> bool:
    """Tell whether a figure can be made of what is seen alone: not huge, nor divided by something huge."""
    return figure < SEEN_AT_MOST and (scale > 0 or figure == 0 or figure > 1 / SEEN_AT_MOST)


def words_sent(arguments: object) -> bool:
    """Tell whether a call names something hidden."""
    return WORD in json.dumps(arguments)


def check(books: McpBooks, tool: str, arguments: dict[str, Any]) -> bool:
    """Call a tool and look through every byte of its response; tell whether it was answered."""
    begun = len(books.responses)
    called = books.call(tool, **arguments)
    came = b"".join(books.responses[begun:]).decode()
    assert SECRET not in came.lower(), (tool, arguments)
    assert words_sent(arguments) or WORD not in came.lower(), (tool, arguments)
    assert not told_figures(came), (tool, arguments)
    if not called.is_error and tool.startswith(("run_", "inspect_")):
        scale = called.result.get("scale", 0)
        assert all(is_of_what_is_seen(figure, scale) for figure in figures_of(called.result)), (tool, arguments)
    if not called.is_error and "data_ref" in called.result:
        for written in written_of(books, called.result["data_ref"], charts=tool in CHARTED):
            assert SECRET not in written.lower(), (tool, arguments)
            assert words_sent(arguments) or WORD not in written.lower(), (tool, arguments)
            assert not told_figures(written), (tool, arguments)
    return not called.is_error


def written_of(books: McpBooks, data_ref: str, *, charts: bool) -> Iterator[str]:
    """Yield every text that can be made of a kept result: its files, and a chart of all of it with its own."""
    yield from (exported(books, data_ref, form) for form in ("json", "xlsx"))
    if not charts:
        return
    begun = len(books.responses)
    chart = books.call("eval_chart_transform", data_refs=[data_ref], transform_code=EVERY_ROW, chart_spec=CHART)
    yield b"".join(books.responses[begun:]).decode()
    assert not chart.is_error or "result has no " in chart.result["error"], chart.result  # no rows, no columns
    if not chart.is_error:
        yield from (exported(books, chart.result["data_ref"], form) for form in ("json", "xlsx"))


def exported(books: McpBooks, data_ref: str, form: str) -> str:
    """Return every text inside the file that a kept result is made into."""
    made = books.ask("export_dataset", data_ref=data_ref, format=form)
    data = httpx2.get(made["download_url"]).content
    return data.decode() if form == "json" else "\n".join(parts(data).values())


def test_nothing_hidden_is_in_any_byte_of_many_calls(planted: Server) -> None:
    asking, answered = RandomCalls(), 0
    for era in ERAS:
        with connected(planted.url, era) as books:
            assert SECRET not in str(books.tools())
            answered += sum(check(books, *asking.call()) for _ in range(CALLS // len(ERAS)))
    assert answered > CALLS / 4
    log = planted.log.read_text().lower()
    assert log.count("tieout.calls call") >= CALLS
    assert "outcome=internal" not in log
    assert SECRET not in log
    assert not told_figures(log)


def test_what_is_hidden_would_be_found_where_it_is_shown(planted: Server) -> None:
    """The look for planted words and digits finds them in what the books hold."""
    text = (Path(planted.log.parents[1]) / "planted" / "data" / f"{SECRET}gl.csv").read_text()
    assert told_figures(text)
    assert told_figures(f"{DIGITS * 3 * 10**5 / 1000:,.2f}")
    assert SECRET in text
