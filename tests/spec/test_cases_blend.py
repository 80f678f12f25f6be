"""Finance case T30: a blend reads one scenario through what is closed of it, another after.

Rules: Blends and variants.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.door import Door
from engine.model.errors import BadArguments
from engine.present.answers.full_reports import switches_json
from engine.present.blocks import table as render_block
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.explained import contributions, explained, fraction
from tests.support.books.inspected import UNCUT, rows_of
from tests.support.books.small import codes, figure, figures, small_books

OUTLOOK = {"Outlook": "actual+forecast"}
MONTHS = [f"2021-{month:02}" for month in range(1, 13)]
ACTUAL = "\n".join(f"{month}-10 actual A 10" for month in MONTHS[:6])
FORECAST = "\n".join(f"{month}-10 forecast A {9 if month < '2021-07' else 12}" for month in MONTHS)


def blended(folder: Path, facts: str, closed: str = "closed_through: 2021-06", profile: str = "") -> Door:
    """Actuals closed through June 2021, a forecast, and what they amount to."""
    return small_books(
        folder,
        profile="seen" if profile else None,
        facts={"gl": f"date scenario entity amount\n{facts}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              revenue: {measure: amount}
              balance: {measure: amount, over_time: closing}
              known: {measure: amount, over_time: {last_known: always}}
              postings: {over_members: count}
              entities: {over_members: {count_distinct: entity}}
            """
        },
        dimensions="entity: {kind: leaf}",
        scenarios=f"""
            actual: {{alias: Actuals, kind: actual, {closed}}}
            forecast: {{alias: Forecast, kind: forecast, variants: {{low: {{label: Low, adjust: [{{where: {{entity: [A]}}, factor: 0.5}}]}}}}}}
            budget: {{alias: Budget, kind: budget, variants: {{half: {{label: Half, adjust: [{{where: {{entity: [A, B, C]}}, factor: 0.5}}]}}}}}}
        """,  # noqa: E501 - one scenario a line
        profiles=profile,
    )


def test_t30_actuals_through_what_is_closed_and_forecast_after(tmp_path: Path) -> None:
    edges = "2021-06-30 actual A 0.5\n2021-06-30 forecast A 999\n2021-07-01 actual A 999\n2021-07-01 forecast A 0.25"
    books = blended(tmp_path, f"{ACTUAL}\n{edges}\n{FORECAST}")
    assert figure(books.metric("revenue", scenarios=OUTLOOK, period="2021")) == Decimal("60.5") + Decimal("72.25")
    months = figures(
        books.metric("revenue", scenarios=OUTLOOK, period=("2021-05", "2021-08"), dimensions=["period"]), "period"
    )
    assert months == {
        "2021-05": 10,
        "2021-06": Decimal("10.5"),
        "2021-07": Decimal("12.25"),
        "2021-08": 12,
        None: Decimal("44.75"),
    }


def test_a_closed_period_without_rows_is_missing_not_forecast(tmp_path: Path) -> None:
    books = blended(tmp_path, "2021-05-10 actual A 10\n" + FORECAST)
    months = figures(
        books.metric("revenue", scenarios=OUTLOOK, period=("2021-05", "2021-07"), dimensions=["period"]), "period"
    )
    assert months == {"2021-05": 10, "2021-06": None, "2021-07": 12, None: 22}


def test_the_boundary_never_shifts(tmp_path: Path) -> None:
    rows = ACTUAL + "\n" + FORECAST + "\n2020-08-10 forecast A 5\n2020-08-10 actual A 7"
    books = blended(tmp_path, rows)
    shifted = {"PY": "actual+forecast@py", "YTD": "actual+forecast@ytd"}
    found = figures(books.metric("revenue", scenarios=shifted, period="2021-08"), "alias")
    assert found == {"PY": 7, "YTD": 60 + 24}


def test_balances_counts_and_variants_of_a_blend(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL + "\n2021-02-10 actual B 3\n" + FORECAST)
    shown = books.metric("balance", "known", "postings", "entities", scenarios=OUTLOOK, period="2021")
    assert figures(shown, "metric") == {"balance": 12, "known": 12 + 3, "postings": 13, "entities": 2}
    low = books.metric("revenue", scenarios={"Low": "actual+forecast/low"}, period="2021")
    assert figure(low) == 63 + 36
    variance = {"V": "var(actual+forecast,forecast)", "P": "var_pct(actual+forecast,forecast)"}
    found = figures(books.metric("revenue", scenarios=variance, period="2021"), "alias")
    assert found == {"V": 63 + 72 - 126, "P": Decimal("0.0714285714285714")}


def test_a_blend_is_open_where_the_scenario_that_its_last_day_comes_from_is(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario entity amount
            2021-02-10 actual   A      10
            2021-03-10 actual   A      10
            2021-04-10 forecast A      12
            2021-02-10 budget   B      7
            2021-04-10 budget   B      7
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="entity: {kind: leaf}",
        scenarios="""
            actual:   {alias: Actuals, kind: actual, closed_through: 2021-03}
            forecast: {alias: Forecast, kind: forecast, closed_through: 2020-12}
            budget:   {alias: Budget, kind: budget}
        """,
    )
    asked: dict[str, Any] = {"scenarios": {"V": "var(actual+forecast,budget)"}, "dimensions": ["entity"]}
    closed, opened = (books.metric("revenue", period=month, **asked) for month in ("2021-02", "2021-04"))
    assert figures(closed, "entity") == {"A": 10, "B": -7, None: 3}
    assert figures(opened, "entity") == {"A": 12, "B": None, None: 5}
    assert "open_period" in codes(opened) - codes(closed)


def test_each_part_of_a_blend_is_cut_to_what_its_own_scenario_shows(tmp_path: Path) -> None:
    rows = ACTUAL + "\n2021-02-10 actual B 3\n2021-08-10 forecast B 100\n" + FORECAST
    books = blended(
        tmp_path,
        rows,
        profile="seen: {scenarios: {actual: {}, forecast: {dimensions: {entity: {allow: [A]}}}}}",
    )
    shown = books.metric("revenue", scenarios=OUTLOOK, period="2021", dimensions=["entity"])
    assert figures(shown, "entity") == {"A": 132, "B": 3, None: 135}


NARROWED = """
    2021-01-05 actual   A 10
    2021-01-06 actual   B 5
    2021-01-07 actual   C 1
    2021-02-05 actual   A 100
    2021-01-05 forecast A 9
    2021-01-05 forecast B 4
    2021-01-05 forecast C 2
    2021-02-05 forecast A 7
    2021-02-05 forecast B 3
    2021-02-05 forecast C 5
    2021-01-05 budget   A 8
    2021-01-05 budget   B 6
    2021-02-05 budget   A 8
    2021-02-05 budget   C 3
"""
ONLY_A = "seen: {scenarios: {'*': {}, forecast: {dimensions: {entity: {allow: [A]}}}}}"
TWO_CUTS = (
    "seen: {scenarios: {budget: {}, actual: {dimensions: {entity: {allow: [A, B]}}}, "
    "forecast: {dimensions: {entity: {allow: [A, C]}}}}}"
)


@pytest.mark.parametrize(
    ("reference", "profile", "period", "expected"),
    [
        ("var(actual,actual+forecast)", ONLY_A, "2021-01", {"A": 0, "B": None, "C": None, None: 0}),
        ("var(budget,actual+forecast)", ONLY_A, "2021-01", {"A": -2, "B": None, "C": None, None: -2}),
        # the open month of the blend is the forecast's; budget and both parts are read within A alone
        ("var(budget,actual+forecast)", TWO_CUTS, ("2021-01", "2021-02"), {"A": -1, "B": None, "C": None, None: -1}),
        ("var(actual+forecast,budget/half)", TWO_CUTS, ("2021-01", "2021-02"), {"A": 9, "B": None, "C": None, None: 9}),
        ("var(actual+forecast@pp,budget)", TWO_CUTS, "2021-02", {"A": 2, "B": None, "C": None, None: 2}),
        ("var_pct(actual+forecast,forecast)", ONLY_A, "2021-02", {"A": 0, "B": None, "C": None, None: 0}),
        # a reference beside itself is narrowed by nothing
        ("var(actual+forecast,actual+forecast)", ONLY_A, "2021-01", {"A": 0, "B": 0, "C": 0, None: 0}),
    ],
)
def test_every_scenario_of_a_variance_narrows_both_sides_the_two_of_a_blend_too(
    tmp_path: Path, reference: str, profile: str, period: str | tuple[str, str], expected: dict[str | None, int | None]
) -> None:
    books = blended(tmp_path, NARROWED, closed="closed_through: 2021-01", profile=profile)
    shown = books.metric("revenue", scenarios={"V": reference}, period=period, dimensions=["entity"])
    found = figures(shown, "entity")
    assert {member: found.get(member) for member in expected} == expected
    result = answer(shown, UNCUT)
    for row in result["rows"]:
        sides = {"+": Decimal(0), "-": Decimal(0)}
        for sign, _, call in calls(row, result["columns"][0]):
            sides[sign] += figure_behind(call, lambda asked: rows_of(books, **asked)) or 0
        if not reference.startswith("var_pct"):
            assert sides["+"] - sides["-"] == (found[row["members"].get("entity")] or 0)


def test_an_explained_variance_of_a_blend_is_narrowed_by_both_of_its_scenarios(tmp_path: Path) -> None:
    books = blended(tmp_path, NARROWED, closed="closed_through: 2021-01", profile=ONLY_A)
    whole = explained(books, "revenue", "entity", period="2021-01", scenarios=("budget", "actual+forecast"))
    assert (fraction(whole.a), fraction(whole.b)) == (8, 10)
    assert contributions(whole.lists[0]) == [("A", -2)]


def test_a_blend_with_a_scenario_that_is_not_granted_is_not_there(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL + "\n" + FORECAST, profile="seen: {scenarios: {actual: {}}}")
    shown = books.metric("revenue", scenarios={**OUTLOOK, "Nobody": "actual+nobody"}, period="2021")
    assert codes(shown) == {"unknown_scenario"}
    assert shown.frame.is_empty()


def test_freshness_tells_of_both_parts(tmp_path: Path) -> None:
    shown = blended(tmp_path, ACTUAL + "\n" + FORECAST).metric("revenue", scenarios=OUTLOOK, period="2021")
    known = shown.freshness["gl"]
    assert {scenario: fresh.through for scenario, fresh in known.items()} == {
        "actual": "2021-06-10",
        "forecast": "2021-12-10",
    }


def test_a_blend_without_a_closed_period_is_refused_with_what_to_ask_for(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL + "\n" + FORECAST, closed="status: open")
    with pytest.raises(BadArguments, match=r"no closed_through for gl\. Ask for actual and forecast in two columns"):
        books.metric("revenue", scenarios=OUTLOOK, period="2021")


def test_a_domain_may_be_closed_through_another_period_than_the_others(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL + "\n" + FORECAST, closed="closed_through: {gl: 2021-03}")
    assert figure(books.metric("revenue", scenarios=OUTLOOK, period="2021-Q2")) == 9 * 3


def test_three_scenarios_are_no_blend(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL)
    with pytest.raises(BadArguments, match="a blend is made of two scenarios"):
        books.metric("revenue", scenarios={"X": "actual+forecast+budget", "A": "actual"}, period="2021")


@pytest.mark.parametrize(
    ("period", "scenario", "said"),
    [
        ("2021", "actual+forecast", True),
        ("2021-06", "actual+forecast", False),
        ("2021-07", "actual+forecast", False),
        ("2021-08", "actual+forecast@ytd", True),
        ("2021", "var(actual+forecast,forecast)", True),
        ("2021", "actual", False),
    ],
)
def test_a_result_says_where_its_blend_switches(tmp_path: Path, period: str, scenario: str, *, said: bool) -> None:
    books = blended(tmp_path, ACTUAL + "\n" + FORECAST)
    report = books.metric("revenue", scenarios={"X": scenario}, period=period)
    found = [note.message for note in report.notes if note.code == "blend_switches"]
    view = "actual+forecast@ytd" if scenario.endswith("@ytd") else "actual+forecast"
    assert found == ([f"{view} of gl has actual through 2021-06-30 and forecast after it."] if said else [])
    assert answer(report, 10**9)["scenarios"][0].get("switches_after") == ("2021-06" if said else None)
    (column, *_) = render_block(report)["columns"]
    assert column.get("switches_after") == ("2021-06" if said else None)


def test_a_blend_that_switches_in_other_months_says_so_by_domain(tmp_path: Path) -> None:
    books = blended(tmp_path, ACTUAL + "\n" + FORECAST, closed="closed_through: {gl: 2021-03}")
    report = books.metric("revenue", scenarios=OUTLOOK, period="2021")
    (column, *_) = answer(report, 10**9)["scenarios"]
    assert column["switches_after"] == "2021-03"
    assert switches_json(replace(report.columns[0], switches={"gl": "2021-03", "people": "2021-02"})) == {
        "switches_after": {"gl": "2021-03", "people": "2021-02"}
    }
