"""Formulas that share figures: a figure that several formulas name is met once, however many ways lead to it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from tests.support.books.inspected import rows_of
from tests.support.books.loads import load_instance
from tests.support.books.small import figure, figures, small_books, write_instance
from tests.support.checks.lines_run import lines_run
from tests.support.service.servers import connected, serving

FEW, MANY = 6, 48  # layers of two formulas each; 2 ** 48 ways lead from the last to the first
SALES, RETURNS = 50, 20
FACTS = f"""
    date       scenario side    amount
    2026-01-10 actual   sale    {SALES}
    2026-01-11 actual   return  {RETURNS}
    2026-02-10 actual   sale    7
"""
EVERYONE = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"


def layered(layers: int) -> dict[str, Any]:
    """Return books whose formulas and lines each name both of the layer below."""
    metrics = (
        f"  a{at}: {{formula: a{at - 1} + b{at - 1}}}\n  b{at}: {{formula: a{at - 1} - b{at - 1}}}\n"
        for at in range(1, layers + 1)
    )
    lines = (
        f"- formula: {{key: l{at}, label: L, is: {one} + {other}}}\n"
        f"- formula: {{key: k{at}, label: K, is: {one} - {other}}}\n"
        for at in range(1, layers + 1)
        for one, other in [(f"l{at - 1}", f"k{at - 1}") if at > 1 else ("a0", "b0")]
    )
    domain = (
        "time: {column: date}\ndimensions: {side: side}\nmeasures: {amount: {places: 2}}\n"
        "inspect_enabled: true\ninspect_columns: [date, side, amount]\nmetrics:\n"
        "  a0: {measure: amount, where: {side: sale}}\n  b0: {measure: amount, where: {side: return}}\n"
    )
    ends = f"  ratio: {{formula: a{layers} / b{layers}}}\n  sold: {{formula: 'a{layers}{{side: sale}}'}}\n"
    return {
        "facts": {"gl": FACTS},
        "domains": {"gl": domain + "".join(metrics) + ends},
        "dimensions": "side: {kind: leaf}",
        "statements": {"pnl": "- {metric: a0}\n- {metric: b0}\n" + "".join(lines)},
        "profiles": EVERYONE,
    }


def last(layers: int, first: int, second: int) -> tuple[int, int]:
    """Return the figures of the last layer."""
    for _ in range(layers):
        first, second = first + second, first - second
    return first, second


def statement(books: Door, layers: int) -> None:
    """Ask for the statement."""
    found = figures(books.statement("pnl", scenarios={"A": "actual"}, period="2026-01"), "line")
    assert (found[f"l{layers}"], found[f"k{layers}"]) == last(layers, SALES, RETURNS)


def metric(books: Door, layers: int) -> None:
    """Ask for the last metrics by member, and for their ratio."""
    found = figures(
        books.metric(f"b{layers}", scenarios={"A": "actual"}, period="2026-01", dimensions=["side"]), "side"
    )
    assert found == {
        "sale": last(layers, SALES, 0)[1],
        "return": last(layers, 0, RETURNS)[1],
        None: last(layers, SALES, RETURNS)[1],
    }


def ratio(books: Door, layers: int) -> None:
    """Ask for a formula that is no sum."""
    over, under = last(layers, SALES, RETURNS)
    value = figure(books.metric("ratio", scenarios={"A": "actual"}, period="2026-01"))
    assert value is not None
    assert abs(Fraction(value) - Fraction(over, under)) < Fraction(1, 10**6)


def members(books: Door, layers: int) -> None:
    """Ask for a formula of members of its own."""
    assert figure(books.metric("sold", scenarios={"A": "actual"}, period="2026-01")) == last(layers, SALES, 0)[0]


def rows(books: Door, layers: int) -> None:
    """Ask for the rows behind the last metric."""
    found = rows_of(books, period_start="2026-01", filters={"metric": f"a{layers}"})
    assert sorted(row[-1] for row in found["rows"]) == sorted((last(layers, SALES, 0)[0], last(layers, 0, RETURNS)[0]))


def names(books: Door, layers: int) -> None:
    """Ask for what the caller sees."""
    assert len(books.reader.metrics) == 2 * layers + 4
    assert len(books.reader.statements["pnl"].lines) == 2 * layers + 2


@pytest.mark.parametrize("ask", [names, statement, metric, ratio, members, rows])
def test_eight_times_the_layers_cost_at_most_twelve_times_the_work(
    ask: Callable[[Door, int], None], tmp_path: Path
) -> None:
    few, many = (small_books(tmp_path / str(layers), **layered(layers)) for layers in (FEW, MANY))
    assert lines_run(lambda: ask(many, MANY)) < 12 * lines_run(lambda: ask(few, FEW))


def test_a_statement_of_shared_formulas_is_served(tmp_path: Path) -> None:
    folder = write_instance(tmp_path / "small", **layered(MANY))
    load_instance(folder, tmp_path / "state")
    with serving(folder, tmp_path / "state") as server, connected(server.url, "auto") as client:
        report = client.ask(
            "run_statement", statement="pnl", scenarios=[{"scenario": "actual"}], period_start="2026-01"
        )
        ends = {row["key"]: row["values"] for row in report["rows"]}
        assert ends[f"l{MANY}"] == [last(MANY, SALES, RETURNS)[0]]
        why = client.ask(
            "explain_variance",
            metric=f"a{MANY}",
            scenarios=["actual", "actual@pp"],
            by=["side"],
            period_start="2026-02",
        )
    assert why["variance"] == last(MANY, 7, 0)[0] - last(MANY, SALES, RETURNS)[0]
