"""Finance cases T09, T11 and T31, and every other way to add up: over members and over time.

Rules: Over members, Over time.
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from tests.support.books.small import codes, figure, figures, granting, small_books, write_instance

A = {"A": "actual"}


def books_of(folder: Path, facts: str, metrics: str, *, fiscal_year: str = "{starts: 1}", more: str = "") -> Door:
    """One table of amounts by entity and customer, and its metrics."""
    return small_books(
        folder,
        facts={"gl": f"date scenario entity customer amount\n{facts}"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{entity: entity}}
            axes: {{customer: customer}}
            measures: {{amount: {{places: 2}}}}
            {more}
            metrics: {" ".join(metrics.split())}
            """
        },
        dimensions="""
            entity: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: entity, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nall - 1\nE1 all 1\nE2 all -1"},
        fiscal_year=fiscal_year,
    )


def by(
    books: Door, metric: str, period: str | tuple[str, str], dimension: str, scenario: str = "actual"
) -> Mapping[str | None, Decimal | None]:
    """Return a metric by members, the total under None."""
    return figures(books.metric(metric, scenarios={"X": scenario}, period=period, dimensions=[dimension]), dimension)


def of(books: Door, metric: str, period: str | tuple[str, str], scenario: str = "actual") -> Decimal | None:
    """Return a metric of a period."""
    return figure(books.metric(metric, scenarios={"X": scenario}, period=period))


def test_t09_average_balance_with_a_late_joiner(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        """
        2021-01-31 actual E1 - 30
        2021-02-28 actual E1 - 30
        2021-03-31 actual E1 - 30
        2021-03-31 actual E2 - 3
        """,
        "{headcount: {measure: amount, over_time: {average: {of: month}}}}",
    )
    assert by(books, "headcount", "2021-Q1", "entity") == {"E1": 30, "E2": 1, None: 31}
    assert of(books, "headcount", ("2021-01", "2021-02")) == 30
    assert of(books, "headcount", "2021") == 31  # nine months have no close and do not count


def test_t11_opening_and_movement_make_closing(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        """
        2020-12-31 actual E1 - 100
        2021-01-31 actual E1 - 105
        2021-02-28 actual E1 - 85
        2021-03-31 actual E1 - 90
        """,
        """{closing: {measure: amount, over_time: closing}, opening: {measure: amount, over_time: opening},
            movement: {formula: closing - opening}}""",
    )
    shown = books.metric("opening", "movement", "closing", scenarios=A, period="2021-Q1")
    assert figures(shown, "metric") == {"opening": 100, "movement": -10, "closing": 90}
    assert of(books, "opening", "2021-Q2") == 90
    assert by(books, "opening", ("2021-01", "2021-03"), "period") == {
        "2021-01": 100,
        "2021-02": 105,
        "2021-03": 85,
        None: 100,
    }
    assert of(books, "opening", "2020") is None
    assert of(books, "opening", "2022-Q1", "actual@py") == 100


def test_movements_to_date_make_a_balance(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        """
        2020-12-15 actual E1 - 100
        2021-01-01 actual E1 - 5
        2021-02-15 actual E1 - -20
        2021-03-15 actual E1 - 5
        """,
        """{balance: {measure: amount, over_time: {to_date: books}},
            opening: {measure: amount, over_time: {opening: {to_date: books}}},
            year: {measure: amount, over_time: {to_date: fiscal_year}}}""",
    )
    assert by(books, "balance", ("2021-01", "2021-04"), "period") == {
        "2021-01": 105,
        "2021-02": 85,
        "2021-03": 90,
        "2021-04": 90,
        None: 90,
    }
    assert of(books, "opening", "2021-Q1") == 100
    assert [of(books, "year", code) for code in ("2020-12", "2021-02", "2022-01")] == [100, -15, None]
    assert of(books, "balance", "2021-03", "actual@py") is None


def test_movements_of_a_fiscal_year_begin_with_it(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        "2011-06-15 actual E1 - 10\n2011-07-15 actual E1 - 5\n2012-01-15 actual E1 - 2",
        "{year: {measure: amount, over_time: {to_date: fiscal_year}}}",
        fiscal_year="{starts: 7}",
    )
    found = {code: of(books, "year", code) for code in ("2011-06", "2011-08", "2012-01", "2012-07")}
    assert found == {"2011-06": 10, "2011-08": 5, "2012-01": 7, "2012-07": None}


def test_an_average_of_months_is_of_the_days_they_close_on(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        "2021-01-15 actual E1 - 10\n2021-01-31 actual E1 - 20\n2021-02-26 actual E1 - 40",
        "{mean: {measure: amount, over_time: {average: {of: month}}}}",
        more="balances: {all: {grain: day}}",
    )
    assert of(books, "mean", "2021-Q1") == 30


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("always", {"E1": 40, "E2": 30, "E3": 7, None: 77}),
        ("fiscal_year", {"E1": 40, "E2": 30, None: 70}),
        ("range", {"E1": 40, None: 40}),
    ],
)
def test_last_known_values_are_carried_as_far_as_is_said(
    tmp_path: Path, since: str, expected: dict[str | None, int | None]
) -> None:
    books = books_of(
        tmp_path,
        """
        2020-06-30 actual E3 - 7
        2021-04-30 actual E1 - 50
        2021-04-10 actual E2 - 10
        2021-04-30 actual E2 - 20
        2021-05-31 actual E1 - 40
        """,
        f"{{balance: {{measure: amount, over_time: {{last_known: {since}}}}}}}",
    )
    shown = by(books, "balance", "2021-05", "entity")
    assert {member: value for member, value in shown.items() if value is not None} == expected
    assert of(books, "balance", "2021-05") == expected[None]


def test_a_row_without_an_amount_leaves_the_value_before_it_known(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario entity amount units\n2021-04-30 actual E1 50 1\n2021-05-31 actual E1 - 3\n"
            "2021-05-31 actual E2 7 -"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity}
            measures: {amount: {places: 2}, units: {places: 0, type: number}}
            metrics:
              owed: {measure: amount, over_time: {last_known: always}}
              owned: {measure: units, over_time: {last_known: always}}
              closed: {measure: amount, over_time: closing}
            """
        },
        dimensions="entity: {kind: leaf}",
        bindings={"gl": {"numbers": {"blank": "none"}}},
    )
    shown = books.metric("owed", "owned", "closed", scenarios=A, period="2021-05", dimensions=["entity"])
    found = figures(shown, "entity", "metric")
    assert [found["E1", "owed"], found["E1", "owned"], found["E1", "closed"]] == [50, 3, None]
    assert [found[None, "owed"], found[None, "owned"], found[None, "closed"]] == [57, 3, 7]


def test_axes_do_not_carry_values_of_their_own(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        "2021-04-30 actual E1 C1 50\n2021-05-31 actual E1 C2 40\n2021-04-30 actual E2 C1 3",
        "{known: {measure: amount, over_time: {last_known: always}}}",
    )
    assert by(books, "known", "2021-05", "customer") == {"C1": 3, "C2": 40, None: 43}


def test_last_known_up_to_a_day_inside_a_period(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        "2021-04-10 actual E1 - 10\n2021-04-30 actual E1 - 20\n2021-05-31 actual E1 - 40",
        "{balance: {measure: amount, over_time: {last_known: always}}}",
    )
    days = by(books, "balance", ("2021-04-09", "2021-04-30"), "period")
    assert [days[day] for day in ("2021-04-09", "2021-04-10", "2021-04-29", "2021-04-30", None)] == [
        None, 10, 10, 30, 30,
    ]  # fmt: skip


ORDERS = """
    2021-01-05 actual E1 C1 10
    2021-01-06 actual E1 C1 40
    2021-01-07 actual E2 C1 -5
    2021-02-05 actual E2 C2 25
    2021-02-06 actual E2 - 5
    2021-02-07 actual E1 C3 0
"""
KINDS = """{orders: {over_members: count}, customers: {over_members: {count_distinct: customer}},
    smallest: {measure: amount, over_members: min}, largest: {measure: amount, over_members: max},
    mean: {measure: amount, over_members: average}, refunds: {measure: amount, over_members: max, sign: negate},
    per_customer: {formula: total / customers}, total: {measure: amount},
    last_customers: {over_members: {count_distinct: customer}, over_time: closing}}"""


def test_rows_are_counted_and_their_extremes_and_mean_found_at_each_level(tmp_path: Path) -> None:
    books = books_of(tmp_path, ORDERS, KINDS)
    metrics = ("orders", "customers", "smallest", "largest", "mean", "refunds", "per_customer")
    shown = books.metric(*metrics, scenarios=A, period="2021-Q1", dimensions=["entity"])
    assert figures(shown, "entity", "metric") == {
        ("E1", "orders"): 3,
        ("E2", "orders"): 3,
        (None, "orders"): 6,
        ("E1", "customers"): 2,
        ("E2", "customers"): 2,
        (None, "customers"): 3,
        ("E1", "smallest"): 0,
        ("E2", "smallest"): -5,
        (None, "smallest"): -5,
        ("E1", "largest"): 40,
        ("E2", "largest"): 25,
        (None, "largest"): 40,
        ("E1", "mean"): Decimal("16.6666666666667"),
        ("E2", "mean"): Decimal("8.33333333333333"),
        (None, "mean"): Decimal("12.5"),
        ("E1", "refunds"): 0,
        ("E2", "refunds"): 5,
        (None, "refunds"): 5,
        ("E1", "per_customer"): 25,
        ("E2", "per_customer"): Decimal("12.5"),
        (None, "per_customer"): 25,
    }
    assert by(books, "refunds", "2021-01", "entity") == {"E1": -10, "E2": 5, None: 5}


def test_distinct_members_of_a_range_are_not_the_sum_of_its_months(tmp_path: Path) -> None:
    books = books_of(tmp_path, ORDERS, KINDS)
    assert by(books, "customers", ("2021-01", "2021-03"), "period") == {
        "2021-01": 1,
        "2021-02": 2,
        "2021-03": None,
        None: 3,
    }
    assert of(books, "last_customers", "2021-Q1") == 2
    assert by(books, "customers", "2021-02-06", "entity") == {"E2": 0, None: 0}  # a row without a customer


def test_what_is_made_of_all_rows_is_not_made_of_parts(tmp_path: Path) -> None:
    rows = "2021-01-05 actual E1 C1 10\n2021-01-06 actual E1 C1 20\n2021-02-05 actual E1 C1 30"
    books = books_of(tmp_path, f"{rows}\n2021-02-06 actual E2 C1 60", KINDS)
    assert by(books, "customers", ("2021-01", "2021-02"), "period") == {"2021-01": 1, "2021-02": 1, None: 1}
    assert by(books, "mean", "2021-Q1", "entity") == {"E1": 20, "E2": 60, None: 30}


def test_t31_a_scalar_repeated_on_every_month(tmp_path: Path) -> None:
    months = "\n".join(f"2021-{month:02}-01 actual E1 - 120" for month in range(1, 7))
    books = books_of(tmp_path, months, "{target: {measure: amount, over_members: max}}")
    assert [of(books, "target", period) for period in ("2021-01", "2021-Q2", ("2021-02", "2021-06"))] == [120] * 3


def test_what_cannot_be_weighed_says_so_instead_of_a_figure(tmp_path: Path) -> None:
    books = books_of(tmp_path, ORDERS, KINDS)
    shown = books.metric("customers", "total", scenarios=A, period="2021-Q1", dimensions=["tree"])
    assert set(figures(shown, "tree", "metric").items()) >= {(("E1", "customers"), None), (("E2", "total"), 25)}
    (note,) = [note for note in shown.notes if note.code == "unavailable"]
    assert "a count distinct cannot be weighed, and tree weighs" in note.message
    assert figure(books.metric("customers", scenarios=A, period="2021-Q1", filters={"tree": "E2"})) == 2


def test_what_any_scenario_shows_decides_what_can_be_weighed(tmp_path: Path) -> None:
    books_of(tmp_path, ORDERS + "\n2021-01-05 budget E2 C1 1", KINDS)
    asked: dict[str, Any] = {"scenarios": A, "period": "2021-Q1", "filters": {"tree": "all"}}
    one = "{dimensions: {entity: {allow: [E1]}}}"
    alone = granting(tmp_path, f"{{actual: {one}, budget: {one}}}")
    assert figure(alone.metric("customers", **asked)) == 2  # E2, which weighs -1, is not there
    shown = granting(tmp_path, f"{{actual: {one}, budget: {{}}}}").metric("customers", **asked)
    assert (figure(shown), codes(shown)) == (None, {"unavailable"})


def test_variances_of_what_does_not_add_up_need_both_sides(tmp_path: Path) -> None:
    books = books_of(tmp_path, ORDERS + "\n2020-01-05 actual E1 C1 10", KINDS)
    asked: dict[str, Any] = {"scenarios": {"V": "var(actual,actual@py)"}, "period": "2021-Q1", "dimensions": ["entity"]}
    shown = books.metric("orders", "customers", "largest", **asked)
    found = figures(shown, "entity", "metric")
    assert [found["E2", "orders"], found["E2", "customers"], found["E2", "largest"]] == [3, None, None]
    assert [found["E1", "orders"], found["E1", "customers"], found["E1", "largest"]] == [2, 1, 30]


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("{over_members: count, sign: negate}", "is a count, which has no sign — leave sign out"),
        ("{over_members: {count_distinct: entity}, measure: amount}", "which has no measure — leave measure out"),
        ("{over_members: {count_distinct: product}}", "gl has no leaf dimension or axis 'product' to count"),
        (
            "{measure: amount, over_members: max, over_time: {to_date: books}}",
            "a max cannot be made to_date (books) — sum, closing or opening",
        ),
        (
            "{over_members: {count_distinct: entity}, over_time: {average: {of: month}}}",
            "a count distinct cannot be made average of month closings",
        ),
        ("{measure: amount, over_time: {average: {of: day}}}", "that close by month cannot be averaged by date"),
        ("{measure: amount, over_time: closed}", "is none of sum, closing, opening, lowest, highest, and no mapping"),
        ("{measure: amount, over_time: {}}", "says one of last_known, to_date, rule, average, opening"),
        ("{measure: amount, over_time: {last_known: forever}}", "'always', 'fiscal_year' or 'range'"),
        ("{measure: amount, over_members: mode}", "is none of sum, count, min, max, average, median, and no mapping"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_a_fault_of_the_catalogue(tmp_path: Path, metric: str, says: str) -> None:
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": "date scenario entity amount\n2021-01-01 actual E1 1"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{entity: entity}}
            measures: {{amount: {{places: 2}}}}
            metrics:
              faulty: {metric}
            """
        },
        dimensions="entity: {kind: leaf}",
    )
    with pytest.raises(InstanceFaults) as faults:
        read_instance(instance)
    (fault,) = str(faults.value).splitlines()
    assert fault.startswith("domains/gl.yaml:8: ")
    assert says in fault


def test_each_adjustment_of_a_variant_multiplies_rows_before_anything_is_made_of_them(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario entity amount\n2021-01-01 budget E1 10\n2021-01-02 budget E2 -4"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity}
            measures: {amount: {places: 2}}
            metrics:
              total: {measure: amount}
              least: {measure: amount, over_members: min}
              mean: {measure: amount, over_members: average}
              rows_held: {over_members: count}
            """
        },
        dimensions="entity: {kind: leaf}",
        scenarios="""
            budget:
              alias: Budget
              kind: budget
              variants:
                turned: {label: Turned, adjust: [{where: {entity: [E1]}, factor: -2}]}
                gone: {label: Gone, adjust: [{where: {entity: [E1, E2]}, factor: 0}]}
        """,
    )
    metrics = ("total", "least", "mean", "rows_held")
    turned = books.metric(*metrics, scenarios={"X": "budget/turned"}, period="2021-01")
    assert figures(turned, "metric") == {"total": -24, "least": -20, "mean": -12, "rows_held": 2}
    gone = books.metric(*metrics, scenarios={"X": "budget/gone"}, period="2021-01")
    assert figures(gone, "metric") == {"total": 0, "least": 0, "mean": 0, "rows_held": 2}


def test_an_average_balance_says_at_which_closes_nothing_stood(tmp_path: Path) -> None:
    books = books_of(
        tmp_path,
        "2021-01-31 actual E1 - 30\n2021-03-31 actual E2 - 4",
        "{closing: {measure: amount, over_time: closing}}",
    )
    shown = books.metric("closing", scenarios=A, period="2021-Q1", dimensions=["entity"])
    assert figures(shown, "entity") == {"E1": None, "E2": 4, None: 4}
    assert "incomplete_close" in codes(shown)
