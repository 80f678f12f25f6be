"""Random calls of every reading tool: names that exist, are hidden or misspelt, and arguments of any kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from server.tools.definitions import DEFINITIONS
from server.tools.prompts import PROMPTS
from server.tools.toolbox import REQUESTS
from tests.laws.oracle.books import OWN
from tests.laws.oracle.strategies import INNER, PRODUCTS, STRANGER
from tests.laws.scoped.books import AXIS, BANDS, CURRENCIES, CUSTOMERS, KINDS, LEAVES, METRICS, REGIONS, STATEMENTS
from tests.laws.scoped.chosen import with_choices
from tests.laws.scoped.cutting import DIMENSIONS
from tests.laws.scoped.material import with_materiality
from tests.laws.scoped.searches import QUERIES, WAYS

LARGE = 1_000_000
BUDGETS = (*[LARGE] * 4, 300, 120)
OF_REPORTS = (*[LARGE] * 5, 2500, 1200, 600)
WHOLE = (  # where parts are left out that books without profiles do not have, or have otherwise
    *("list_load_history", "get_load_status", "list_bindings", "get_binding"),
    *("svc_orientation", "resources/read"),
)


@dataclass(frozen=True)
class BudgetedCall:
    """A call of a tool on a budget; loads are named by their feed, as `load of gl`."""

    tool: str
    arguments: dict[str, Any]
    budget: int = LARGE


def misspelt(names: Sequence[str]) -> st.SearchStrategy[str]:
    """Draw a name, mostly as it is written, at times nearly so."""
    ways = (*[str] * 36, str.upper, lambda name: name[:-1], lambda name: f"{name}s", lambda name: f"{name} ")
    return st.builds(lambda name, way: way(name), st.sampled_from(names), st.sampled_from(ways))


def seldom(usual: Sequence[str], unusual: Sequence[str]) -> st.SearchStrategy[str]:
    """Draw one of some names, of the others one in ten, and at times one that is misspelt."""
    share = max(1, 9 * len(unusual) // len(usual))
    return misspelt((*tuple(usual) * share, *unusual))


scenarios = seldom((*KINDS, "actual", "budget", "budget/downside"), ("budget/upside", "actual/downside", "ghost"))
MOVES = (
    *([""] * 5),
    *("@py", "@ytd", "@pp", "@ltm"),
    "@last3",
    "@pm",
    "@pq",
    "@pw",
    "@mtd",
    "@avg3",
    "@opening",
    "@py@ytd",
    "@cytd",
    "@tytd",
    "@nonsense",
)
sides = st.builds(
    lambda name, blended, move: f"{name}{blended}{move}",
    scenarios,
    st.sampled_from((*[""] * 7, "+budget", "+forecast", "+board")),
    st.sampled_from(MOVES),
)
SHARES = [f"share({{}}{base})" for base in ("", "", ",parent", ",revenue", ",rolled", ",ghost")]
CHANGES = ("var(share({}),share(budget))", "var_pct(share(actual,parent),share({},parent))")
OTHERS = ("rank({})", "rank({})", "running({})", "running(share({}))", "rank(share({}))")
FORMS = [*["{}"] * 12, *SHARES, *CHANGES, "var(share({},revenue),share(forecast,revenue))", *OTHERS]
dimensions = seldom((*DIMENSIONS, AXIS, "period"), ("date", "year", "week", "calendar_year", "trading_period", "ghost"))
members = misspelt(
    (
        *PRODUCTS,
        STRANGER,
        *INNER,
        f"G{OWN}",
        f"N{OWN}",
        *REGIONS,
        *CUSTOMERS,
        *CURRENCIES,
        *BANDS,
        "(unassigned)",
        "(all)",
        "nobody",
        "2020-02",
        "2020-Q1",
        "last_closed",
    )
)
domains = st.sampled_from(sorted(LEAVES))
metric_names = [key for metrics in METRICS.values() for key in metrics]
metrics = seldom(
    metric_names,
    (
        *(f"{domain}.{key}" for domain, known in METRICS.items() for key in known),
        *(
            "Umsatz",
            "result",
            "team",
            "star",
            "pnl.rolled",
            "pnl.rest",
            "shop.turnover",
            "closes.heads",
            "pnl.tree.P1",
            "pnl.a_head",
            "ghost.revenue",
        ),
    ),
)
statements = seldom((*STATEMENTS, "pnl"), ("ghost", "Result"))
periods = st.sampled_from(
    (
        *("2020", "2021", "2019", "2020-Q1", "2020-01", "2020-02", "2020-06", "2021-02", "2020-02-29", "2020-W09"),
        *("CY2020", "CY2020-Q1", "H1 2020", "TY2020", "TY2020-P02"),
        *("20-1", "Q1 2020", "Feb 2020", "last_closed", "last_closed-1"),
    )
)
OWN_MEMBERS = (  # of operands of formulas
    *([""] * 6),
    *("{product: P1}", "{region: EU}", "{tree: G}", '{product: "(all)"}', "{band: big, region: [EU, US]}"),
    *("{customer: X}", "{tree: [G, N]}", '{region: "(unassigned)"}', "{product: nobody}", "{ghost: X}", "{month: EU}"),
)
one_name = misspelt((*QUERIES, *PRODUCTS, *REGIONS, *CUSTOMERS, STRANGER, *(f"60{key}" for key in PRODUCTS)))
some_names = st.lists(one_name, min_size=1, max_size=3)
queries = st.one_of(one_name, one_name, some_names.map(" ".join), some_names)
KEYS_OF = {
    "product": (*PRODUCTS, STRANGER, "nobody", "(unassigned)", "Star"),
    "band": (*BANDS, "(unassigned)", "huge"),
    "tree": (*INNER, *PRODUCTS, f"G{OWN}", f"N{OWN}", "(unassigned)", "(all)", "nobody", "the north"),
    "region": (*REGIONS, "AP", "(unassigned)", "The North"),
    "customer": (*CUSTOMERS, "Z", "star", "team"),
    "month": ("2020-02", "2021-02", "(unassigned)"),
    AXIS: (*CURRENCIES, "GBP", "(all)"),
}


@st.composite
def one_filter(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a filter by ids that its dimension may have, or by anything."""
    key = draw(st.sampled_from(sorted(KEYS_OF)))
    if draw(st.integers(0, 14)) == 1:
        return draw(dimensions), draw(members)
    if key == AXIS:
        key = draw(st.sampled_from(("product", "tree", AXIS)))
    ids = draw(st.lists(st.sampled_from(KEYS_OF[key]), min_size=1, max_size=3))
    ways = st.sampled_from(WAYS)  # of calling a member
    ids = [draw(ways)(member) for member in ids] if draw(st.integers(0, 3)) == 1 else ids
    if draw(st.integers(0, 4)) == 1:
        among = draw(st.lists(st.sampled_from(KEYS_OF[key]), max_size=1))
        return key, {"exclude": ids, **({"include": among} if among else {})}
    return key, ids[0] if len(ids) == 1 and draw(st.booleans()) else ids


@st.composite
def filters(draw: st.DrawFn) -> dict[str, Any]:
    """Draw some filters."""
    return dict(draw(st.lists(one_filter(), max_size=draw(st.sampled_from((0, 1, 1, 2))))))


@st.composite
def times(draw: st.DrawFn) -> dict[str, str]:
    """Draw a range, mostly one that has rows."""
    usual = {"period_start": "2020-01", "period_end": "2021-03"}
    return draw(
        st.one_of(
            st.just(usual),
            st.just(usual),
            st.just({"period_start": "2020", "period_end": "2021"}),
            st.sampled_from(("2020", "2020-02", "2020-Q1", "2021-02", "last_closed", "(undated)")).map(
                lambda code: {"period_start": code}
            ),
            st.fixed_dictionaries({}, optional={"period_start": periods, "period_end": periods}),
        )
    )


@st.composite
def report(draw: st.DrawFn, columns: st.SearchStrategy[str]) -> dict[str, Any]:
    """Draw what statements and metrics have in common."""
    optional = {
        "scale": st.sampled_from((*(0, 3, 6) * 5, 5)),
        "decimals": st.sampled_from((*(0, 2) * 8, 13)),
        "summary": st.sampled_from((False, False, False, True)),
        "dimensions": st.lists(dimensions, max_size=2, unique=True),
        "subtotals": st.sampled_from((False, False, False, True)),
    }
    column = st.builds(lambda key, form: {"scenario": form.format(key)}, columns, st.sampled_from(FORMS))
    shown = st.lists(column, min_size=1, max_size=3, unique_by=str)
    asked: dict[str, Any] = draw(st.fixed_dictionaries({"scenarios": shown}, optional=optional))
    if draw(st.integers(0, 9)) == 1:
        del asked["scenarios"]
    if draw(st.integers(0, 2)) == 1:
        asked["dimensions"] = draw(
            st.sampled_from((["tree"], ["product"], ["region", "period"], ["region", "tree"], ["band"], [AXIS]))
        )
        asked["subtotals"] = len(asked["dimensions"]) > 1 and draw(st.booleans())
    return {**asked, **draw(times()), "filters": draw(filters())}


@st.composite
def statement(draw: st.DrawFn, columns: st.SearchStrategy[str] = sides) -> dict[str, Any]:
    """Draw the arguments of a statement."""
    lines = st.lists(misspelt(("rolled", "rest", "turnover", "heads", "tree.P1", "pnl.a_head")), max_size=2)
    named: dict[str, Any] = {"statement": draw(statements)} if draw(st.booleans()) else {}
    if draw(st.integers(0, 4)) == 1:
        named |= {"lines": draw(lines), "depth": draw(st.sampled_from((0, 1, 9, -1)))}
    return draw(with_materiality({**draw(report(columns)), **named}, dimensions))


@st.composite
def metric(
    draw: st.DrawFn, columns: st.SearchStrategy[str] = sides, own: st.SearchStrategy[str] = sides
) -> dict[str, Any]:
    """Draw the arguments of metrics, mostly of one domain."""
    alike = st.lists(st.sampled_from(sorted(METRICS[draw(domains)])), min_size=1, max_size=4, unique=True)
    one = st.lists(metrics, min_size=1, max_size=1)
    named = draw(st.one_of(alike, alike, alike, one, one, st.lists(metrics, min_size=1, max_size=2, unique=True)))
    more = draw(formulas(named, own))
    kept = [] if more and draw(st.integers(0, 3)) == 1 else named
    return {**draw(report(columns)), "metrics": kept, **draw(ranking((*named, "x"))), **more}


@st.composite
def formulas(draw: st.DrawFn, named: Sequence[str], own: st.SearchStrategy[str] = sides) -> dict[str, Any]:
    """Draw a formula of metrics, mostly none; an operand may have a side of its own."""
    if draw(st.integers(0, 2)) != 1:
        return {}
    alias = seldom(["x"], ["revenue", "heads", "turnover", "actual"])
    operand = st.one_of(st.sampled_from(named), metrics, st.just("2"))
    signs = st.sampled_from(("+", "-", "*", "/", "**"))
    shapes = ("{} {} {}", "{} {} {}", "max({0}, {2})", "if({0} > {2}, {2}, {0} {1} {2})")
    brackets = st.one_of(st.just(""), own.map("[{}]".format), st.sampled_from(("[@py]", "[@ytd]", "[]", "[@ghost]")))
    first, second = (
        f"{draw(each)}{draw(st.sampled_from(OWN_MEMBERS))}{draw(brackets)}"
        for each in (st.sampled_from(named), operand)
    )
    text = draw(st.sampled_from(shapes)).format(first, draw(signs), second)
    return {"formulas": {draw(alias): text}}


@st.composite
def ranking(draw: st.DrawFn, named: Sequence[str]) -> dict[str, Any]:
    """Draw how the members are ranked, mostly not at all."""
    if draw(st.integers(0, 2)) != 1:
        return {}
    terms = st.sampled_from(("umsatz", "Result", "team", "fte"))
    spelled = st.builds("{}@{}".format, st.one_of(st.sampled_from(named), terms), scenarios)
    order = st.one_of(st.sampled_from(named), scenarios, spelled, terms)
    states = st.sampled_from(("favourable", "unfavourable", "missing", "odd"))
    limits = {"min": st.sampled_from((0, 5.5, -3, 0.25)), "max": st.sampled_from((0, 20, 0.5)), "is": states}
    condition = st.fixed_dictionaries({"column": order}, optional=limits)
    optional = {
        "order_by": order,
        "asc": st.booleans(),
        "top": st.sampled_from((1, 1, 2, 2, 3, 5, 0, 300)),
        "having": st.lists(condition, max_size=2),
    }
    return draw(st.fixed_dictionaries({}, optional=optional))


@st.composite
def variance(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the arguments of an explained variance."""
    optional = {
        "depth": st.sampled_from((1, 1, 2, 6)),
        "drivers": st.sampled_from((False, False, True)),
        "top": st.sampled_from((1, 2, 10, 10, 0, 300)),
        "materiality": st.sampled_from(({"absolute": 3}, {"percent": 5}, {"percent": -1}, {})),
        "picture": st.sampled_from((*(False,) * 9, True)),
    }
    asked = {
        "metric": metrics,
        "scenarios": st.lists(sides, min_size=2, max_size=2, unique=True),
        "by": st.lists(st.one_of(dimensions, dimensions, st.just("lines")), min_size=1, max_size=3, unique=True),
    }
    return {**draw(st.fixed_dictionaries(asked, optional=optional)), **draw(times()), "filters": draw(filters())}


@st.composite
def inspected(draw: st.DrawFn, compared: Sequence[str] = ()) -> dict[str, Any]:
    """Draw the arguments of an inspection."""
    kept, source = draw(filters()), draw(domains)
    if draw(st.booleans()):
        kept["metric"] = draw(st.one_of(st.sampled_from(sorted(METRICS[source])), metrics))
    if draw(st.integers(0, 7)) == 1:
        kept["scenario"] = draw(sides)
    if compared:
        kept["compared_with"] = list(compared)
    names = ("date", "product", "region", "customer", "amount", "value", "fte", AXIS, "scenario", "text")
    shown = st.lists(st.sampled_from(names), max_size=2)
    optional = {"limit": st.sampled_from((1, 1, 2, 2, 5, 5, 5000, 0))}
    needed = {"source_key": misspelt([source]), "scenario_id": st.one_of(scenarios, scenarios, sides)}
    asked: dict[str, Any] = draw(st.fixed_dictionaries(needed, optional=optional))
    if draw(st.integers(0, 5)) == 1:
        asked["columns"] = draw(shown)
    return draw(with_choices({**asked, **draw(times()), "filters": kept}, names))


TABLES = ("live.gl", "live.people", "live.sales", "live.product", "live.customer", "live.tree")
feeds = misspelt((*LEAVES, "product", "customer", "tree", "ghost"))
load_ids = st.builds("load of {}".format, feeds)
targets = misspelt((*TABLES, "live.ghost"))
skill_files = st.builds(
    "skill://tieout/{}/{}".format,
    misspelt([name.replace("_", "-") for name in PROMPTS]),
    st.sampled_from(("SKILL.md", "SKILL.md", "references/names.md", "../tie-out/SKILL.md", "")),
)
addresses = st.one_of(
    metrics.map("tieout://metric/{}".format),
    statements.map("tieout://statement/{}".format),
    st.sampled_from(("tieout://orientation", "tieout://ghost/revenue")),
    skill_files,
)
prompts = misspelt(tuple(PROMPTS))
prompted = st.fixed_dictionaries(
    {},
    optional={"metric": metrics, "statement": statements, "period": periods, "base": sides, "scenario": sides},
)
named = st.sampled_from(("metric", "statement", "period", "base", "scenario", "ghost"))
ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "svc_orientation": st.just({}),
    "list_scenarios": st.just({}),
    "list_kpis": st.fixed_dictionaries({}, optional={"domain": misspelt((*LEAVES, "ghost")), "query": one_name}),
    "list_dimensions": st.just({}),
    "list_inspection_sources": st.just({}),
    "list_variants": st.fixed_dictionaries({"scenario_id": scenarios}),
    "search_hierarchy": st.fixed_dictionaries(
        {},
        optional={
            "query": queries,
            "dimension": dimensions,
            "limit": st.sampled_from((0, 1, 3, 20_000)),
            "offset": st.sampled_from((0, 1, 2, 5, -1)),
        },
    ),
    "run_statement": statement(),
    "run_statement_data": statement(),
    "run_metric": metric(),
    "run_metric_data": metric(),
    "explain_variance": variance(),
    "get_inspection_schema": st.fixed_dictionaries({"source_key": misspelt(sorted(LEAVES))}),
    "inspect_rows": inspected(),
    "list_load_history": st.fixed_dictionaries(
        {}, optional={"binding_id": feeds, "dataset_id": targets, "status": st.sampled_from(("success", "failed", "x"))}
    ),
    "get_load_status": st.fixed_dictionaries({"load_id": load_ids}),
    "list_bindings": st.fixed_dictionaries(
        {}, optional={"source_id": st.sampled_from(("files", "erp")), "target": targets}
    ),
    "get_binding": st.fixed_dictionaries({"binding_id": feeds}),
    # what is kept is opened wherever a result has a reference; these ask for what is not there
    "eval_chart_transform": st.fixed_dictionaries(
        {
            "data_refs": st.lists(st.sampled_from((f"ds_{'a' * 32}", "")), max_size=2),
            "transform_code": st.sampled_from(("result = df", "import os")),
            "chart_spec": st.sampled_from(
                ({"chart_type": "bar", "title": "T", "lines": ["Revenue"]}, {"chart_type": "pie"})
            ),
        }
    ),
    "export_dataset": st.fixed_dictionaries(
        {"data_ref": st.sampled_from((f"ds_{'a' * 32}", "")), "format": st.sampled_from(("json", "xlsx", "csv"))}
    ),
    "get_file_download": st.fixed_dictionaries({"file_id": st.sampled_from(("a" * 32, "../x", ""))}),
    # what is brought is nobody's but its owner's; these ask for what cannot be
    "begin_file_upload": st.fixed_dictionaries(
        {"filename": st.sampled_from(("../x", "")), "mime_type": st.just("text/csv"), "size_bytes": st.just(1)}
    ),
    "complete_file_upload": st.fixed_dictionaries({"upload_id": st.sampled_from(("a" * 32, "../x", ""))}),
    "resources/list": st.fixed_dictionaries({}, optional={"cursor": st.sampled_from(("1", "200", "x"))}),
    "resources/read": st.fixed_dictionaries({"uri": addresses}),
    "resources/read/dataset": st.sampled_from(("ds_" + "a" * 32, "")).map(
        lambda key: {"uri": f"tieout://dataset/{key}"}
    ),
    "skills/list": st.fixed_dictionaries({}, optional={"cursor": st.sampled_from(("1", "200", "x"))}),
    "skills/get": st.fixed_dictionaries({"uri": st.one_of(skill_files, addresses)}),
    "prompts/get": st.fixed_dictionaries({"name": prompts, "arguments": prompted}),
    "completion/complete": st.fixed_dictionaries(
        {"argument": named, "value": st.sampled_from(("", "", "", "re", "P", "2020"))},
        optional={"prompt": prompts, "template": st.sampled_from([kind.template for kind in DEFINITIONS])},
    ),
    "tools/list": st.just({}),
    "import_host_file": st.fixed_dictionaries(
        {"file": st.fixed_dictionaries({"download_url": st.sampled_from(("https://files.test/a", "file:///etc"))})}
    ),
}
OFTEN = (
    "run_statement",
    "run_metric",
    "run_metric",
    "run_metric_data",
    "explain_variance",
    "inspect_rows",
    "inspect_rows",
    "search_hierarchy",
)


@st.composite
def comparing(draw: st.DrawFn, compared: Sequence[str]) -> BudgetedCall:
    """Draw a call about what two scenarios differ by."""
    a, b = compared
    moves = st.sampled_from(("", "", "", "@py", "@ytd"))
    key = f"{draw(st.sampled_from(('var', 'var', 'var_pct')))}({a}{draw(moves)},{b}{draw(moves)})"
    tool = draw(st.sampled_from(("run_statement", "run_metric", "run_metric", "inspect_rows", "explain_variance")))
    if tool == "explain_variance":
        return BudgetedCall(tool, {**draw(variance()), "scenarios": [f"{a}{draw(moves)}", f"{b}{draw(moves)}"]})
    if tool == "inspect_rows":
        return BudgetedCall(tool, {**draw(inspected([b])), "scenario_id": a})
    own = st.sampled_from((a, b, f"{a}@py", f"{b}@ytd"))
    asked = draw(statement(st.just(key)) if tool == "run_statement" else metric(st.just(key), own))
    return BudgetedCall(tool, {**asked, "scenarios": [{"scenario": key}]})


@st.composite
def calls(draw: st.DrawFn) -> BudgetedCall:
    """Draw a call of any tool."""
    return draw(calls_of(draw(st.sampled_from((*sorted(REQUESTS), *OFTEN)))))


@st.composite
def calls_of(draw: st.DrawFn, tool: str) -> BudgetedCall:
    """Draw a call of a tool; at times an argument is of a kind or a name that it does not take."""
    arguments = dict(draw(ARGUMENTS[tool]))
    if draw(st.integers(0, 29)) == 1:
        arguments[draw(st.sampled_from(("limit", "statement", "querry", "region", "filters")))] = draw(
            st.sampled_from((1.5, None, [], {"X": "Y"}, "P1", True))
        )
    budgets = (LARGE,) if tool in WHOLE else OF_REPORTS if REQUESTS[tool].lane in ("heavy", "exports") else BUDGETS
    return BudgetedCall(tool, arguments, draw(st.sampled_from(budgets)))


LISTS = tuple(
    BudgetedCall(tool, {})
    for tool, request in ARGUMENTS.items()
    if tool.startswith(("svc_", "list_", "resources/list", "skills/list", "tools/list")) and tool != "list_variants"
)
EVERYTHING_LISTED = (
    *LISTS,
    *(BudgetedCall("search_hierarchy", {"dimension": key}) for key in DIMENSIONS),
    BudgetedCall("search_hierarchy", {}),
)
