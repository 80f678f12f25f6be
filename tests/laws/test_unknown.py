"""Unknown and not yours are one: a name that is hidden is answered as one that nothing has, and costs as much.

The same name is asked for in books that hold it, hidden, and in books that never had it; in the former also beside a
name that nothing has. Names are plain ones, and ones that are made to be told apart: prefixes and extensions of visible
names, long ones, accented ones.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Books, Shelf
from engine.model.catalogue import Catalogue
from engine.model.errors import Refusal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.feeds import LoadAttempt
from server.feeds.instance import read_instance
from server.tools.toolbox import REQUESTS
from server.wire.arguments import read_request
from tests.laws.scoped.answering import plain, told
from tests.laws.scoped.chosen import INSPECTED, OF_CHOSEN_ROWS
from tests.laws.scoped.operands import ASKED, OF_OPERAND_MEMBERS, OF_OPERANDS, Arguments
from tests.laws.scoped.searches import OF_SEARCHED_MEMBERS, OF_SEARCHES, terms_naming
from tests.support.books.fed import SOMEBODY, attempt_of
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.checks.depth import SHORT
from tests.support.engines.memory import MemoryLoads, folder_in_memory
from tests.support.engines.watched import WatchedStore

HIDDEN, NEVER = "wwwww", "zzzzz"  # like no other name; nothing has the second
KEYS = (HIDDEN, "board", "revenu", "revenue_two", "actua", "x", "k" * 60)  # of scenarios, domains, metrics and so on
IDS = (HIDDEN, "board", "AB", "A", "ABCD", "Zürich", "Zu\u0308rich", "北京", "L" * 180, "a x c", "%s{0}")  # of members
CHARTED = (HIDDEN,) if SHORT else (*KEYS, *IDS)  # of whose answers scripts draw charts as well
EXPLAINED: dict[str, Any] = {
    "metric": "revenue",
    "scenarios": ["actual", "actual@pp"],
    "by": ["product", "tree"],
    "period_start": "2021-01",
}
ROWS = {"source_key": "gl", "scenario_id": "actual"}
NAMING: dict[str, tuple[str, Arguments]] = {  # of each parameter that names something: tool, arguments
    "scenario": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "scenarios": [{"scenario": "actual"}, {"scenario": name}]},
    ),
    "only scenario": ("run_statement", lambda name: {**ASKED, "scenarios": [{"scenario": name}]}),
    "scenario of last_closed": (
        "run_metric",
        lambda name: {
            "metrics": ["revenue"],
            "scenarios": [{"scenario": name}, {"scenario": "actual"}],
            "period_start": "last_closed",
        },
    ),
    "only scenario of last_closed": (
        "inspect_rows",
        lambda name: {"source_key": "gl", "scenario_id": name, "period_start": "last_closed"},
    ),
    "side of a variance": (
        "run_metric_data",
        lambda name: {**ASKED, "metrics": ["revenue"], "scenarios": [{"scenario": f"var(actual,{name})"}]},
    ),
    "part of a blend": (
        "run_statement_data",
        lambda name: {**ASKED, "scenarios": [{"scenario": f"actual+{name}@py", "alias": "Blend"}]},
    ),
    "variant of": ("run_statement", lambda name: {**ASKED, "scenarios": [{"scenario": f"{name}/fewer"}]}),
    "scenario to explain": ("explain_variance", lambda name: {**EXPLAINED, "scenarios": ["actual", name]}),
    "figure to explain": ("explain_variance", lambda name: {**EXPLAINED, "metric": f"of_{name}"}),
    "line to explain": ("explain_variance", lambda name: {**EXPLAINED, "metric": f"by_{name}.of_{name}"}),
    "dimension to explain by": ("explain_variance", lambda name: {**EXPLAINED, "by": ["product", f"of_{name}"]}),
    "dimension of a filter of what is explained": (
        "explain_variance",
        lambda name: {**EXPLAINED, "filters": {f"of_{name}": "X"}},
    ),
    "scenario_id of variants": ("list_variants", lambda name: {"scenario_id": name}),
    "scenario_id": ("inspect_rows", lambda name: {**ROWS, "scenario_id": name}),
    "view": ("inspect_rows", lambda name: {**ROWS, "filters": {"scenario": f"actual+{name}"}}),
    "compared_with": ("inspect_rows", lambda name: {**ROWS, "filters": {"compared_with": ["actual", name]}}),
    "statement": ("run_statement", lambda name: {**ASKED, "statement": f"by_{name}"}),
    "metric": ("run_metric", lambda name: {**ASKED, "metrics": ["revenue", name]}),
    "order": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "dimensions": ["product"], "order_by": f"of_{name}", "top": 1},
    ),
    "condition": (
        "run_metric",
        lambda name: {
            **ASKED,
            "metrics": ["revenue"],
            "dimensions": ["product"],
            "having": [{"column": f"of_{name}", "min": 1}],
        },
    ),
    "scenario of a share": (
        "run_metric",
        lambda name: {
            **ASKED,
            "metrics": ["revenue"],
            "dimensions": ["product"],
            "scenarios": [{"scenario": "actual"}, {"scenario": f"running(share(var(actual,{name})))"}],
        },
    ),
    "side of a change of shares": (
        "run_metric",
        lambda name: {
            **ASKED,
            "metrics": ["revenue"],
            "dimensions": ["product"],
            "scenarios": [{"scenario": "actual"}, {"scenario": f"var(share(actual),share({name}))"}],
        },
    ),
    "line": ("run_statement", lambda name: {**ASKED, "lines": [f"of_{name}"]}),
    "column of materiality": (
        "run_statement",
        lambda name: {**ASKED, "materiality": {"of": f"of_{name}", "absolute": 1}},
    ),
    "dimension of material lines": (
        "run_statement",
        lambda name: {**ASKED, "materiality": {"of": "actual", "absolute": 1, "by": f"of_{name}"}},
    ),
    "base of a share": (
        "run_statement",
        lambda name: {**ASKED, "scenarios": [{"scenario": f"share(actual,of_{name})"}]},
    ),
    "metric of a formula": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue / of_{name}"}},
    ),
    "alias of a formula": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {f"of_{name}": "revenue * 2"}},
    ),
    "metric of a domain": ("run_metric", lambda name: {**ASKED, "metrics": [f"{name}.of_{name}"]}),
    "metric of a visible domain": ("run_metric", lambda name: {**ASKED, "metrics": [f"gl.of_{name}"]}),
    "dimension": ("run_metric", lambda name: {**ASKED, "metrics": ["revenue"], "dimensions": [f"of_{name}"]}),
    "dimension of lines": ("run_statement", lambda name: {**ASKED, "dimensions": ["tree", f"of_{name}"]}),
    "dimension of a filter": (
        "run_statement",
        lambda name: {**ASKED, "filters": {"product": "ABC", f"of_{name}": "X"}},
    ),
    "domain of metrics": ("list_kpis", lambda name: {"domain": name}),
    "query among metrics": ("list_kpis", lambda name: {"query": f"of_{name}"}),
    "metric of a resource": ("resources/read", lambda name: {"uri": f"tieout://metric/of_{name}"}),
    "statement of a resource": ("resources/read", lambda name: {"uri": f"tieout://statement/by_{name}"}),
    "result": ("resources/read/dataset", lambda name: {"uri": f"tieout://dataset/{name}"}),
    "skill": ("resources/read", lambda name: {"uri": f"skill://tieout/{name}/SKILL.md"}),
    "entry of a skill": ("skills/get", lambda name: {"uri": f"skill://tieout/{name}/SKILL.md"}),
    "metric of a prompt": ("prompts/get", lambda name: {"name": "tie_out", "arguments": {"metric": f"of_{name}"}}),
    "scenario of a prompt": (
        "prompts/get",
        lambda name: {"name": "tie_out", "arguments": {"metric": "revenue", "scenario": name}},
    ),
    "value of a completion": (
        "completion/complete",
        lambda name: {"prompt": "tie_out", "argument": "metric", "value": f"of_{name}"},
    ),
    "dimension of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {f"of_{name}": "X"}}),
    "figure of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {"metric": f"of_{name}"}}),
    "line of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {"metric": f"pnl.of_{name}"}}),
    "statement of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {"metric": f"by_{name}.of_{name}"}}),
    "column": ("inspect_rows", lambda name: {**ROWS, "columns": ["product", f"of_{name}"]}),
    "source_key": ("inspect_rows", lambda name: {**ROWS, "source_key": name}),
    "source_key of a schema": ("get_inspection_schema", lambda name: {"source_key": name}),
    "binding_id": ("get_binding", lambda name: {"binding_id": name}),
    "binding_id of loads": ("list_load_history", lambda name: {"binding_id": name}),
    "dataset_id": ("list_load_history", lambda name: {"dataset_id": f"live.{name}"}),
    "target": ("list_bindings", lambda name: {"target": f"live.{name}"}),
    "source_id": ("list_bindings", lambda name: {"source_id": f"from_{name}"}),
    "load_id": ("get_load_status", lambda name: {"load_id": f"load-{name}-1"}),
}
NAMING |= OF_OPERANDS | OF_CHOSEN_ROWS | OF_SEARCHES
OF_MEMBERS: dict[str, tuple[str, Arguments]] = {
    "member": ("run_metric", lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"product": ["ABC", name]}}),
    "member left out": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"product": {"exclude": ["D", name]}}},
    ),
    "member among others left out": (
        "run_statement",
        lambda name: {**ASKED, "filters": {"tree": {"include": ["Top", name], "exclude": [f"N{name}"]}}},
    ),
    "member of rows left out": (
        "inspect_rows",
        lambda name: {**ROWS, "filters": {"product": {"exclude": [name]}, "metric": "revenue"}},
    ),
    "member of what is explained": (
        "explain_variance",
        lambda name: {**EXPLAINED, "filters": {"product": ["ABC", name]}},
    ),
    "node of a statement": ("run_statement", lambda name: {**ASKED, "lines": [f"tree.N{name}"]}),
    "only member": ("run_statement", lambda name: {**ASKED, "filters": {"product": name}}),
    "member to break down": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"tree": name}, "dimensions": ["tree"]},
    ),
    "node": ("run_metric_data", lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"tree": f"N{name}"}}),
    "value": ("run_statement", lambda name: {**ASKED, "filters": {"band": [f"B{name}", "small"]}}),
    "own postings": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"tree": f"{name}/(own)"}},
    ),
    "member of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {"product": [name]}}),
    "node of rows": ("inspect_rows", lambda name: {**ROWS, "filters": {"tree": [f"N{name}"], "metric": "revenue"}}),
    "member by name": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"product": f"ARTICLE {name}"}},
    ),
    "member by nearly its name": (
        "run_statement",
        lambda name: {**ASKED, "filters": {"product": ["abc", f"Artilce {name}"], "tree": ["TOP", f"node{name}"]}},
    ),
    "member of rows by name": ("inspect_rows", lambda name: {**ROWS, "filters": {"product": [f"article{name}"]}}),
}
OF_MEMBERS |= OF_OPERAND_MEMBERS | OF_SEARCHED_MEMBERS
BY_NAME = "{domains: {allow: [gl]}, dimensions: {product: {allow: [ABC, D]}}}"
BY_ROWS = "{domains: {allow: [gl]}, dimensions: {region: {allow: [EU]}}}"  # products that only hidden rows have


class CountedShelf(Shelf):
    """A shelf whose books stand on a store that remembers what it is asked."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        super().__init__(catalogue, root)
        self._asked: list[object] = []

    def current(self) -> Books:
        """Return the current books."""
        books = super().current()
        if not isinstance(books.facts, WatchedStore):
            books.facts = WatchedStore(books.facts, self._asked.append)
        return books

    def take(self) -> Sequence[object]:
        """Return what was asked since the last time, in words: frames compare as no value."""
        asked = [repr(question) for question in self._asked]
        self._asked.clear()
        return asked


class ToolAnswers:
    """The tools over books that hold some hidden names, or none."""

    def __init__(self, folder: Path, keys: Sequence[str], ids: Sequence[str], grant: str = BY_NAME) -> None:
        self._folder = folder
        instance = written(folder, keys, ids, grant)
        self._instance = read_instance(instance)
        load_feeds(instance, folder / "state", read=self._instance)
        self.loads = MemoryLoads()
        for attempt in attempts(["gl", *keys]):
            self.loads.begin(attempt)
        self.open()

    def open(self) -> None:
        """Begin anew, with nothing worked out before."""
        self.shelf = CountedShelf(self._instance.catalogue, self._folder / "state" / "store")
        feeds = Feeds.of(self._instance.bindings, self.loads, {})
        keeping = keeping_in(self._folder / "files")
        self._callers = Callers(self._instance, self.shelf, feeds, keeping, WORKSHOP, 1_000_000, 1000)

    def ask(self, tool: str, arguments: Mapping[str, Any], *, charts: bool = True) -> str:
        """Return what a call answers or refuses, as text, versions aside."""
        text = told(tool, arguments, self._callers.of(SOMEBODY, lambda: None), charts=charts)
        return json.dumps(plain(json.loads(text)), ensure_ascii=False)

    def costs(self, tool: str, arguments: Mapping[str, Any]) -> Sequence[Sequence[object]]:
        """Return what a call asks of the store at first, and again; a file or chart of its result asks nothing."""
        self.open()
        return [self._asked_by(tool, arguments) for _ in range(2)]

    def _asked_by(self, tool: str, arguments: Mapping[str, Any]) -> Sequence[object]:
        with suppress(Refusal):
            REQUESTS[tool].run(self._callers.of(SOMEBODY, lambda: None), read_request(REQUESTS[tool].shape, arguments))
        return self.shelf.take()


def attempts(feeds: Sequence[str]) -> Iterator[LoadAttempt]:
    """Yield a load of each of some feeds."""
    for feed in feeds:
        yield attempt_of(
            f"load-{feed}-1", feed, source="files" if feed == "gl" else f"from_{feed}", target=f"live.{feed}"
        )


def written(folder: Path, keys: Sequence[str], ids: Sequence[str], grant: str) -> Path:
    """Write books of a ledger that a grant shows a part of; it hides everything of the names given."""

    def domain(key: str) -> str:
        gaps = "".join(f", gap_{name}: {{formula: 'revenue - revenue[{name}]'}}" for name in keys)
        metrics = f"revenue: {{measure: amount}}{gaps}" if key == "gl" else f"of_{key}: {{measure: amount}}"
        dimension = "product: product, region: region" if key == "gl" else f"of_{key}: of_{key}"
        return (
            f"time: {{column: date}}\ndimensions: {{{dimension}}}\nmeasures: {{amount: {{places: 2}}}}\n"
            f"{INSPECTED if key == 'gl' else ''}inspect_enabled: true\nmetrics: {{{metrics}}}\n"
        )

    members = [f"{id_.replace(' ', '~')} Article B{id_.replace(' ', '~')}" for id_ in ids]
    nodes = [f"N{id_} - Node~{id_}\n{id_} N{id_} -".replace(" c", "~c").replace("a x", "a~x") for id_ in ids]
    actual = {"alias": "Actuals", "kind": "actual", "closed_through": "2021-01"}
    plans = {key: {"alias": key, "kind": "plan", "closed_through": "2020-12", "variants": FEWER} for key in keys}
    books = write_instance(
        folder / "books",
        facts={
            "gl": "date scenario product region amount memo\n"
            "2021-01-05 actual ABC EU 1 -\n2021-01-05 actual D EU 2 no\n"
            + "\n".join(f"2021-01-06 actual {cell} US 4 no~{cell}" for cell in (id_.replace(" ", "~") for id_ in ids))
            + "\n".join(f"\n2021-01-07 {key} D EU 8 {key}" for key in keys),
            **{key: f"date scenario of_{key} amount\n2021-01-05 actual X 16" for key in keys},
        },
        domains={key: domain(key) for key in ("gl", *keys)},
        dimensions=json.dumps(
            {
                "product": {"kind": "leaf", "members": "live.product"},
                "region": {"kind": "leaf"},
                "band": {"kind": "derived", "from": "product", "attribute": "band"},
                "tree": {"kind": "ragged", "leaf_dimension": "product", "nodes": "live.tree"},
                **{f"of_{key}": {"kind": "leaf"} for key in keys},
            }
        ),
        tables={
            "product": "\n".join(["id name band", "ABC Amber small", "D Dark small", *members]),
            "tree": "\n".join(["node parent name", "Top - -", "ABC Top -", *nodes]),
        },
        statements={
            "pnl": "- {metric: revenue}" + "".join(f"\n- {{metric: {a}_{key}}}" for key in keys for a in ("of", "gap")),
            **{f"by_{key}": f"- {{metric: of_{key}}}" for key in keys},
        },
        scenarios=json.dumps({"actual": actual, **plans}),
        profiles=f"seen: {{scenarios: {{actual: {grant}}}}}\nassign: [{{subject: somebody, profile: seen}}]",
        bindings={key: {"source": f"from_{key}"} for key in keys},
        sources={f"from_{key}": {"kind": "folder", "path": "data"} for key in keys},
    )
    with (books / "instance.yaml").open("a", encoding="utf-8") as more:
        more.write(f"terms: {json.dumps(terms_naming(keys, ids))}\n")
    return books


FEWER = {
    "fewer": {"label": "Fewer", "adjust": [{"where": {"product": ["D"]}, "factor": "0.5", "measures": ["amount"]}]}
}


@pytest.fixture(scope="module")
def holding() -> Iterator[ToolAnswers]:
    """Books that hold the names, hidden."""
    with folder_in_memory() as folder:
        yield ToolAnswers(folder, KEYS, IDS)


@pytest.fixture(scope="module")
def lacking() -> Iterator[ToolAnswers]:
    """Books that never had them."""
    with folder_in_memory() as folder:
        yield ToolAnswers(folder, (), ())


@pytest.fixture(scope="module")
def holding_rows() -> Iterator[ToolAnswers]:
    """Books whose hidden rows have members of the names."""
    with folder_in_memory() as folder:
        yield ToolAnswers(folder, (), IDS, BY_ROWS)


@pytest.fixture(scope="module")
def lacking_rows() -> Iterator[ToolAnswers]:
    """Books that never had them, seen through the same profile."""
    with folder_in_memory() as folder:
        yield ToolAnswers(folder, (), (), BY_ROWS)


NAMED = {**dict.fromkeys(NAMING, KEYS), **dict.fromkeys(OF_MEMBERS, IDS)}


@pytest.mark.parametrize("what", NAMED)
def test_a_hidden_name_is_answered_as_where_nothing_has_it(
    holding: ToolAnswers, lacking: ToolAnswers, what: str
) -> None:
    tool, arguments = {**NAMING, **OF_MEMBERS}[what]
    for name in NAMED[what]:
        given, charts = arguments(name), name in CHARTED
        assert holding.ask(tool, given, charts=charts) == lacking.ask(tool, given, charts=charts), name


@pytest.mark.parametrize("what", NAMED)
def test_a_hidden_name_is_answered_as_another_but_for_the_name(holding: ToolAnswers, what: str) -> None:
    tool, arguments = {**NAMING, **OF_MEMBERS}[what]
    hidden = holding.ask(tool, arguments(HIDDEN), charts=not SHORT)
    assert hidden.replace(HIDDEN, NEVER) == holding.ask(tool, arguments(NEVER), charts=not SHORT)


@pytest.mark.parametrize("what", NAMED)
def test_a_hidden_name_costs_the_questions_that_an_unknown_one_does(holding: ToolAnswers, what: str) -> None:
    tool, arguments = {**NAMING, **OF_MEMBERS}[what]
    unknown = holding.costs(tool, arguments(NEVER))
    for name in NAMED[what]:
        assert holding.costs(tool, arguments(name)) == unknown, name


@pytest.mark.parametrize("what", OF_OPERANDS)
def test_a_name_within_an_operand_is_refused_before_the_store_is_asked(holding: ToolAnswers, what: str) -> None:
    tool, arguments = OF_OPERANDS[what]
    for name in (*KEYS, NEVER):
        assert holding.costs(tool, arguments(name)) == [[], []], name
        assert json.loads(holding.ask(tool, arguments(name)))["error_type"] == "unknown_name", name


@pytest.mark.parametrize("what", OF_OPERAND_MEMBERS)
def test_a_member_within_an_operand_is_refused_as_an_unknown_one(holding: ToolAnswers, what: str) -> None:
    tool, arguments = OF_OPERAND_MEMBERS[what]
    for name in (*IDS, NEVER):
        assert json.loads(holding.ask(tool, arguments(name)))["error_type"] == "unknown_name", name


@pytest.mark.parametrize("what", OF_MEMBERS)
def test_a_member_of_hidden_rows_is_answered_as_where_nothing_has_it(
    holding_rows: ToolAnswers, lacking_rows: ToolAnswers, what: str
) -> None:
    tool, arguments = OF_MEMBERS[what]
    for name in IDS:
        given, charts = arguments(name), name in CHARTED
        assert holding_rows.ask(tool, given, charts=charts) == lacking_rows.ask(tool, given, charts=charts), name


@pytest.mark.parametrize("what", OF_MEMBERS)
def test_a_member_of_hidden_rows_costs_the_questions_that_an_unknown_one_does(
    holding_rows: ToolAnswers, what: str
) -> None:
    tool, arguments = OF_MEMBERS[what]
    assert holding_rows.costs(tool, arguments(HIDDEN)) == holding_rows.costs(tool, arguments(NEVER))


def test_every_parameter_that_names_something_is_asked_about() -> None:
    calls = {**NAMING, **OF_MEMBERS}.values()
    named = {(tool.removesuffix("_data"), key) for tool, arguments in calls for key in arguments("board")}
    free = {"period_start", "period_end", "scale", "decimals", "limit", "period", "status", "format", "asc", "top"}
    free |= {"offset", "depth", "drivers", "materiality", "summary", "picture", "subtotals"}
    free |= {"data_ref", "data_refs", "file_id", "upload_id", "amount"}  # drawn, and of their owner alone
    free |= {"filename", "mime_type", "size_bytes", "file", "transform_code", "chart_spec"}  # of the caller's own
    free |= {"name", "cursor", "prompt", "template", "argument"}  # of the service, not of its books
    every = {(tool.name.removesuffix("_data"), key) for tool in REQUESTS.values() for key in tool.schema["properties"]}
    assert {(tool, key) for tool, key in every if key not in free} <= named
