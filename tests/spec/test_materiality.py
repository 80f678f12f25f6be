"""Material lines of a statement: who reaches the materiality is shown with the largest members, the rest is counted.

Rules: Material lines.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, Refusal, UnknownName
from engine.model.exact import Exact
from engine.model.requests import LineMateriality
from engine.present.answers import reports
from engine.report import ranking
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.answers.drills import calls
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import small_books
from tests.support.books.worked import tables

ACTUAL = (
    "R sales 1000\nSalaries dev 300\nSalaries sales 200\nSalaries ops 50\nBonus dev 20\nRent ops 100\nEnergy ops 30\n"
)
ACTUAL += "Travel sales 15\nTravel dev 45"
BUDGET = "R sales 900\nSalaries dev 250\nSalaries sales 210\nSalaries ops 60\nRent ops 100\nEnergy ops 20\n"
BUDGET += "Travel sales 60\nTravel dev 5"
HEADS = {"actual": {"dev": 4, "sales": 3, "ops": 1}, "budget": {"dev": 3, "sales": 3, "ops": 1}}
ABOVE = {"People": "Costs", "Salaries": "People", "Bonus": "People", "Rooms": "Costs", "Rent": "Rooms"}
ABOVE |= {"Energy": "Rooms", "Travel": "Costs"}
AMOUNTS = {
    (scenario, account, function): Fraction(amount)
    for scenario, rows in (("actual", ACTUAL), ("budget", BUDGET))
    for account, function, amount in map(str.split, rows.splitlines())
}
FACTS = "\n".join(
    f"2026-03-05 {scenario} {account} {function} {n}" for (scenario, account, function), n in AMOUNTS.items()
)
STAFF = "\n".join(f"2026-03-31 {each} {function} {n}" for each, known in HEADS.items() for function, n in known.items())
FLUX: dict[str, Any] = {
    "facts": {
        "gl": f"date scenario account function amount\n{FACTS}",
        "people": f"date scenario function fte\n{STAFF}",
        "cash": "date scenario held\n2026-03-31 actual 50\n2026-03-31 budget 40",
    },
    "domains": {
        "gl": """
        time: {column: date}
        dimensions: {account: account, function: function}
        measures: {amount: {places: 2}}
        inspect_enabled: true
        metrics:
          revenue: {measure: amount, where: {account: R}, favourable: up}
          spent: {measure: amount, favourable: down}
        """,
        "people": """
        time: {column: date}
        dimensions: {function: function}
        measures: {fte: {places: 1, type: number}}
        inspect_enabled: true
        metrics:
          heads: {measure: fte, over_time: closing, favourable: down}
        """,
        "cash": """
        time: {column: date}
        dimensions: {}
        measures: {held: {places: 0}}
        metrics:
          bank: {measure: held, over_time: closing}
        """,
    },
    "dimensions": """
        account: {kind: leaf}
        function: {kind: leaf}
        tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
    """,
    "tables": {"tree": "node parent\nCosts -\n" + "\n".join(f"{node} {above}" for node, above in ABOVE.items())},
    "statements": {
        "pl": """
        - {header: Income}
        - {metric: revenue}
        - {header: Spending}
        - {rollup: {dimension: tree, node: Costs, metric: spent}, key: costs}
        - {formula: {key: result, label: Result, is: revenue - costs, favourable: up}}
        - {header: Ratios}
        - {formula: {key: margin, label: Margin, is: result / revenue, format: percent}}
        - {formula: {key: per_head, label: Per head, is: revenue / heads}}
        - {header: Staff}
        - {metric: heads}
        - {header: Bank}
        - {metric: bank}
        """
    },
}
BOTH = {"Actual": "actual", "Budget": "budget", "Variance": "var(actual,budget)", "Share": "var_pct(actual,budget)"}
ASKED: dict[str, Any] = {"scenarios": BOTH, "period": "2026-03"}
NODES = ("costs", "tree.People", "tree.Salaries", "tree.Bonus", "tree.Rooms", "tree.Rent", "tree.Energy", "tree.Travel")
HEADERS = {"header_1": ("revenue",), "header_3": (*NODES, "result"), "header_6": ("margin", "per_head")}
HEADERS |= {"header_9": ("heads",), "header_11": ("bank",)}
ORDER = [key for header, lines in HEADERS.items() for key in (header, *lines)]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A statement of income, a tree of costs, staff and cash, by function."""
    return small_books(tmp_path_factory.mktemp("flux"), **FLUX)


def accounts(key: str) -> set[str]:
    """Return the accounts of a line."""
    node = "Costs" if key == "costs" else key.removeprefix("tree.")
    below = {account for account, above in ABOVE.items() if above == node}
    return set().union(*map(accounts, (f"tree.{account}" for account in below))) if below else {node}


def side(key: str, scenario: str, function: str | None = None) -> Fraction | None:
    """Return the figure of a line in a scenario, of all functions or of one; None without rows."""
    if key == "bank":
        return Fraction({"actual": 50, "budget": 40}[scenario])
    if key == "heads":
        each = HEADS[scenario]
        return Fraction(sum(each.values()) if function is None else each[function])
    if key == "result":
        revenue, costs = side("revenue", scenario, function), side("costs", scenario, function)
        return (revenue or Fraction()) - (costs or Fraction())
    names = {"R"} if key == "revenue" else accounts(key)
    found = [
        amount
        for (of, account, by), amount in AMOUNTS.items()
        if of == scenario and account in names and function in (None, by)
    ]
    return sum(found, start=Fraction()) if found else None


def change(key: str, function: str | None = None) -> Fraction:
    """Return the variance of a line."""
    a, b = (side(key, scenario, function) for scenario in ("actual", "budget"))
    return (a or Fraction()) - (b or Fraction())


def is_beyond(key: str, absolute: float | None, percent: float | None, rule: str) -> bool:
    """Tell whether a line reaches the materiality, by the words of the rules."""
    base, size, tests = side(key, "budget"), abs(change(key)), list[bool]()
    if absolute is not None:
        tests.append(size >= Fraction(str(absolute)))
    if percent is not None:
        tests.append(size * 100 >= Fraction(str(percent)) * abs(base) if base else size > 0)
    return all(tests) if rule == "all" else any(tests)


def expected(absolute: float | None, percent: float | None, rule: str) -> list[str]:
    """Return the keys of the lines that are shown."""
    tested = ("revenue", *NODES, "result", "heads", "bank")
    beyond = {key for key in tested if is_beyond(key, absolute, percent, rule)}
    shown = set(beyond)
    for key in beyond & set(NODES):
        node = key.removeprefix("tree.")
        while node in ABOVE:
            node = ABOVE[node]
            shown.add("costs" if node == "Costs" else f"tree.{node}")
    shown |= {"margin"} if beyond & {"result", "revenue"} else set()
    shown |= {"per_head"} if beyond & {"revenue", "heads"} else set()
    shown |= {header for header, lines in HEADERS.items() if shown.intersection(lines)}
    return [key for key in ORDER if key in shown]


def flux(books: Door, **asked: Any) -> Report:
    """Return the statement with a materiality of the variance, its other arguments given."""
    own = {name: asked.pop(name) for name in ("absolute", "percent", "rule", "by", "top") if name in asked}
    return books.statement("pl", materiality=LineMateriality(of="Variance", **own), **{**ASKED, **asked})


def keys(report: Report) -> list[str]:
    """Return the keys of the lines of a report."""
    return [line.key for line in report.lines]


def figures_of(report: Report, key: str) -> list[Fraction | None]:
    """Return the figures of a line in the first three columns of the total."""
    at = keys(report).index(key)
    found = [report.figures[at][column][-1] for column in range(3)]
    return [Fraction(each.numerator, each.denominator) if isinstance(each, Exact) else None for each in found]


PERCENTS = (None, 0, 5, 5.77, 7.8, 9, 50, 200)
ABSOLUTES = (None, 0, 1, 5, 10.01, 20, 20.5, 45, 100, 1000)


@pytest.mark.parametrize("rule", ["any", "all"])
def test_the_lines_that_reach_it_stay(books: Door, rule: Literal["any", "all"]) -> None:
    whole = books.statement("pl", **ASKED)
    of_whole = {key: figures_of(whole, key) for key in keys(whole)}
    for absolute, percent in product(ABSOLUTES, PERCENTS):
        bounds: dict[str, float] = {}
        bounds |= {} if absolute is None else {"absolute": absolute}
        bounds |= {} if percent is None else {"percent": percent}
        if not bounds or (rule == "all" and len(bounds) < 2):
            continue
        report = flux(books, **bounds, rule=rule)
        assert keys(report) == expected(absolute, percent, rule), bounds
        assert {key: figures_of(report, key) for key in keys(report)}.items() <= of_whole.items(), bounds


def test_the_rest_is_counted_by_unit_and_below_a_node_with_its_sum(books: Door) -> None:
    report = flux(books, absolute=20)
    assert keys(report) == expected(20, None, "any")
    assert answer(report, 100_000)["immaterial"] == [
        {"unit": "number", "lines": 1, "largest": "heads", "value": 1},
        {"unit": "USD", "lines": 1, "largest": "bank", "value": 10},
        {"below": "costs", "lines": 2, "sum": 5, "largest": "tree.Rooms", "value": 10},
    ]
    nobody = answer(flux(books, absolute=1000), 100_000)
    assert nobody["rows"] == []
    assert nobody["immaterial"] == [
        {"unit": "USD", "lines": 4, "largest": "revenue", "value": 100},
        {"unit": "pp", "lines": 1},
        {"unit": "USD each", "lines": 1},
        {"unit": "number", "lines": 1, "largest": "heads", "value": 1},
    ]
    everything = flux(books, absolute=0)
    assert everything.materiality is not None
    assert everything.materiality.left_out == ()


def test_a_node_that_is_not_material_stays_above_a_line_that_is(books: Door) -> None:
    report = flux(books, percent=50)
    assert keys(report) == ["header_3", "costs", "tree.People", "tree.Bonus", "tree.Rooms", "tree.Energy"]
    left = answer(report, 100_000)["immaterial"]
    below = {group["below"]: (group["lines"], group["sum"]) for group in left if "below" in group}
    assert below == {"costs": (1, -5), "tree.People": (1, 30), "tree.Rooms": (1, 0)}


def test_lines_and_depth_choose_first(books: Door) -> None:
    report = flux(books, absolute=5, depth=0)
    assert keys(report) == [key for key in expected(5, None, "any") if not key.startswith("tree.")]
    few = flux(books, absolute=20, lines=["costs", "tree.Travel", "margin"])
    assert keys(few) == ["header_3", "costs", "header_6", "margin"]
    left = {"lines": 1, "sum": -5, "largest": "tree.Travel", "value": -5}
    assert answer(few, 100_000)["immaterial"] == [{"below": "costs", **left}]
    deep = flux(books, absolute=40, lines=["costs", "tree.Salaries"])  # whose own node is not asked for
    assert keys(deep) == ["header_3", "costs"]
    left = {"lines": 1, "largest": "tree.Salaries", "value": 30}
    assert answer(deep, 100_000)["immaterial"] == [{"unit": "USD", **left}]


@pytest.mark.parametrize("scale", [0, 3])
def test_a_bound_is_unscaled_and_what_is_left_out_has_the_scale_of_the_report(books: Door, scale: int) -> None:
    report = flux(books, absolute=20, scale=scale)
    assert keys(report) == expected(20, None, "any")
    left = answer(report, 100_000)["immaterial"]
    assert [entry["value"] for entry in left] == [1, 10 if not scale else 0.01, 10 if not scale else 0.01]
    assert [entry.get("unit") for entry in left] == ["number", "USD" if not scale else "USD thousands", None]


def test_a_comparative_of_nothing_is_beyond_any_percent(books: Door) -> None:
    assert "tree.Bonus" in keys(flux(books, percent=100000))
    assert "tree.Bonus" not in keys(flux(books, percent=100000, absolute=20.01, rule="all"))
    assert "tree.Bonus" in keys(flux(books, percent=100000, absolute=20, rule="all"))


def members(key: str, top: int) -> tuple[list[str], list[str]]:
    """Return the functions of a line with the largest variances, and the others that have rows."""
    sized = [
        (-abs(change(key, function)), function)
        for function in ("dev", "ops", "sales")
        if any(side(key, scenario, function) is not None for scenario in ("actual", "budget"))
    ]
    order = [function for _, function in sorted(sized)]
    return order[:top], order[top:]


@pytest.mark.parametrize("small", [0, 1_000])  # members, above which sums stay in frames
@pytest.mark.parametrize("top", [1, 2, 3])
def test_the_largest_members_follow_each_line(
    books: Door, monkeypatch: pytest.MonkeyPatch, top: int, small: int
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    report = flux(books, absolute=20, by="function", top=top)
    shown = iter(keys(report))
    for key in expected(20, None, "any"):
        assert next(shown) == key
        if key not in ("revenue", *NODES, "result"):
            continue
        largest, rest = members(key, top)
        for function in largest:
            assert next(shown) == f"{key}/{function}"
            a, b = (side(key, scenario, function) for scenario in ("actual", "budget"))
            assert figures_of(report, f"{key}/{function}") == [a, b, change(key, function)]
        if rest:
            assert next(shown) == f"{key}/(others)"
            sums = [
                sum(each, start=Fraction())
                for each in zip(
                    *(
                        [side(key, scenario, function) or Fraction() for scenario in ("actual", "budget")]
                        for function in rest
                    ),
                    strict=True,
                )
            ]
            others = figures_of(report, f"{key}/(others)")
            assert [figure or Fraction() for figure in others] == [*sums, sums[0] - sums[1]]
            assert report.lines[keys(report).index(f"{key}/(others)")].holds == len(rest)
    assert next(shown, None) is None


def test_frames_and_lists_answer_alike(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for small in (0, 1_000):
        monkeypatch.setattr(ranking, "MAX_SMALL", small)
        told.append(reports.answer(flux(books, percent=5, by="function", top=1), 100_000))
    assert told[0] == told[1]


def test_the_rows_behind_a_member_and_the_others_make_them(books: Door) -> None:
    result = answer(flux(books, absolute=20, by="function", top=1), 100_000)
    actual = result["columns"][0]
    rows = [row for row in result["rows"] if row["kind"] in ("member", "others") and row["key"].startswith("costs/")]
    assert [row["key"] for row in rows] == ["costs/dev", "costs/(others)"]
    for row in rows:
        ((_, _, asked),) = calls(row, actual)
        assert rows_of(books, **asked)["contribution_total"] == row["values"][0]
    (of_result,) = (row for row in result["rows"] if row["key"] == "result/sales")
    found = {operand: rows_of(books, **asked)["contribution_total"] for _, operand, asked in calls(of_result, actual)}
    assert found == {"pl.result": 785}


def test_what_is_kept_answers_as_it_did(books: Door) -> None:
    report = flux(books, percent=5, by="function", top=1)
    again = opened(keep(report), books.reader)
    assert answer(again, 100_000) == answer(report, 100_000)  # type: ignore[arg-type]  # what was kept is a report
    assert repr(again) == repr(report)
    assert "Lines below costs that are not material" in repr(flux(books, absolute=20))


def test_a_line_without_the_dimension_has_no_members(books: Door) -> None:
    report = flux(books, percent=20, by="function")
    assert "bank" in keys(report)
    assert not [key for key in keys(report) if key.startswith("bank/")]


def test_a_breakdown_is_tested_in_its_total(books: Door) -> None:
    report = flux(books, absolute=20, dimensions=["function"])
    assert keys(report) == expected(20, None, "any")
    assert [place.members[0].id for place in report.places[:-1]] == ["dev", "ops", "sales"]


def test_a_share_of_a_line_is_one_of_a_member_too(books: Door) -> None:
    columns = {**BOTH, "Of revenue": "share(actual,revenue)"}
    report = flux(books, absolute=20, by="function", top=1, scenarios=columns)
    at = keys(report).index("costs/dev")
    found = report.figures[at][4][-1]
    assert isinstance(found, Exact)
    assert Fraction(found.numerator, found.denominator) == Fraction(365, 1000)


REFUSED: Sequence[tuple[Mapping[str, Any], type[Refusal], str, str]] = [
    ({}, BadArguments, "materiality", "needs absolute, percent, or both"),
    ({"absolute": -1}, BadArguments, "materiality.absolute", "0 or more"),
    ({"percent": float("nan")}, BadArguments, "materiality.percent", "takes a number"),
    ({"absolute": 1, "rule": "all"}, BadArguments, "materiality.rule", "together"),
    ({"of": "Variances", "absolute": 1}, BadArguments, "materiality.of", "no column of this call"),
    ({"of": "Actual", "percent": 1}, BadArguments, "materiality.of", "has no comparative"),
    ({"of": "Share", "percent": 1}, BadArguments, "materiality.of", "has no amounts"),
    ({"absolute": 1, "by": "functions"}, UnknownName, "materiality.by", "There is no dimension"),
    ({"absolute": 1, "by": "period"}, BadArguments, "materiality.by", "is time"),
    ({"absolute": 1, "top": 2}, BadArguments, "materiality.top", "Name a dimension in by"),
    ({"absolute": 1, "by": "function", "top": 0}, BadArguments, "materiality.top", "below 1"),
    ({"absolute": 1, "by": "function", "dimensions": ["function"]}, BadArguments, "materiality.by", "Give one"),
    ({"absolute": 1, "by": "held"}, UnknownName, "materiality.by", "There is no dimension"),
]


@pytest.mark.parametrize(("asked", "kind", "field", "words"), REFUSED)
def test_what_nothing_can_reach_is_refused_in_words(
    books: Door, asked: Mapping[str, Any], kind: type[Refusal], field: str, words: str
) -> None:
    with pytest.raises(kind) as refusal:
        told: dict[str, Any] = {"of": "Variance", **asked}
        dimensions = told.pop("dimensions", ())
        books.statement("pl", materiality=LineMateriality(**told), dimensions=dimensions, **ASKED)
    said = refusal.value.as_data()
    assert said["field"] == field
    assert words in said["error"]
    if field == "materiality.of":
        assert said["valid"] == (["Variance"] if "percent" in asked else ["Actual", "Budget", "Variance"])
        for heading in said["valid"]:
            books.statement("pl", materiality=LineMateriality(**{**told, "of": heading}), **ASKED)


def test_members_that_share_leaves_have_no_others(tmp_path: Path) -> None:
    tree = "tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}"
    teams = f"teams: {tree[6:].replace('account', 'function').replace('live.tree', 'live.teams')}"
    parts = {**FLUX, "dimensions": f"account: {{kind: leaf}}\nfunction: {{kind: leaf}}\n{tree}\n{teams}\n"}
    parts["tables"] = {**FLUX["tables"], "teams": "node parent\nX -\nY -\ndev X\nsales X\ndev Y\nops Y"}
    books = small_books(tmp_path, **parts)
    with pytest.raises(BadArguments) as refusal:
        flux(books, absolute=20, by="teams", top=1)
    assert refusal.value.as_data()["field"] == "materiality.by"
    assert "share members below them" in refusal.value.as_data()["error"]
    report = flux(books, absolute=20, by="teams", top=2)
    assert figures_of(report, "costs/X") == [580, 525, 55]


def test_a_statement_of_unknown_scenarios_tests_nothing(books: Door) -> None:
    report = flux(books, absolute=20, scenarios={"Variance": "var(actual,nobody)"})
    assert not report.columns
    assert report.materiality is None
    with pytest.raises(UnknownName):
        flux(books, absolute=20, by="functions", scenarios={"Variance": "var(actual,nobody)"})


def test_the_lines_of_the_page_are_those_that_are_shown(books: Door) -> None:
    (table,) = (table for table in tables() if "`absolute: 20`" in table.head)
    for bounds, at in (({"absolute": 20}, -2), ({"percent": 50}, -1)):
        report = flux(books, **bounds)
        for line, actual, budget, variance, *_ in table.body:
            name = line.partition(",")[0]
            key = "costs" if name == "costs" else f"tree.{name.capitalize()}"
            words = table.body[[row[0] for row in table.body].index(line)][at]
            assert (key in keys(report)) is words.startswith(("shown", "above")), (bounds, line)
            said = [Fraction(text.replace("\N{MINUS SIGN}", "-") or 0) for text in (actual, budget, variance)]
            assert said == [side(key, "actual"), side(key, "budget") or 0, change(key)]
