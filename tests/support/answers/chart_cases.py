"""Charts as a client asks for them: cases of what people draw, each with the rows that it must have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import pytest

from tests.support.service.servers import McpBooks

ACTUAL = {"scenario": "actual", "alias": "Actuals"}
BUDGET = {"scenario": "budget", "alias": "Budget"}
MONTHS = {"period_start": "2026-01", "period_end": "2026-09"}
BY_MONTH = {"metrics": ["revenue"], "scenarios": [ACTUAL, BUDGET], **MONTHS, "dimensions": ["period"]}
BY_COMPANY = {**BY_MONTH, "dimensions": ["entity"]}
PNL = {"statement": "pnl", "scenarios": [ACTUAL, BUDGET], **MONTHS}
ROWS = {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": "revenue"}, "period_start": "2026-09"}
HEADS = {**BY_MONTH, "metrics": ["headcount"], "scenarios": [ACTUAL]}
Rows = list[list[Any]]


@dataclass(frozen=True)
class DrawnChart:
    """A chart that somebody would ask for: of which results, and what its rows must be, worked out of those."""

    tool: str
    asked: Mapping[str, Any]
    code: str
    spec: Mapping[str, Any]
    expected: Callable[[dict[str, Any]], Rows]


def members(result: Mapping[str, Any]) -> Rows:
    """Return the rows of members, each with its figures."""
    return [[row["label"], *row["values"]] for row in result["rows"] if row.get("kind") != "total"]


def moving(figures: list[Any], many: int) -> list[float]:
    """Return the means of so many figures in a row."""
    return [sum(figures[at : at + many]) / many for at in range(len(figures) - many + 1)]


def added(rows: Rows, by: int, amount: int) -> dict[Any, float]:
    """Return the sums of a column by another."""
    sums: dict[Any, float] = {}
    for row in rows:
        sums[row[by]] = sums.get(row[by], 0) + row[amount]
    return sums


PERIODS = "df.filter(pl.col('period').is_not_null())"
CASES = {
    "actuals and budget by month, as they are": DrawnChart(
        "run_metric",
        BY_MONTH,
        f"result = {PERIODS}.select('period', 'alias', 'value')",
        {"chart_type": "line", "x": "period", "y": "value", "series": "alias"},
        lambda result: [
            [row["key"], alias, row["values"][at]]
            for at, alias in enumerate(("Actuals", "Budget"))
            for row in result["rows"][:-1]
        ],
    ),
    "scenarios side by side": DrawnChart(
        "run_metric",
        BY_COMPANY,
        "w = df.filter(pl.col('entity').is_not_null()).pivot(on='alias', index='entity_label', values='value')\n"
        "result = w.sort('Actuals', descending=True).head(5)",
        {"chart_type": "horizontal_bar", "x": "entity_label", "y": ["Actuals", "Budget"]},
        lambda result: sorted(members(result), key=lambda row: -row[1])[:5],
    ),
    "the largest and all others together, in plain Python": DrawnChart(
        "run_metric",
        BY_COMPANY,
        "rows = [r for r in df.to_dicts() if r['entity'] and r['alias'] == 'Actuals']\n"
        "rows.sort(key=lambda r: r['value'], reverse=True)\n"
        "result = [{'company': r['entity_label'], 'value': r['value']} for r in rows[:3]]\n"
        "result.append({'company': f'Other ({len(rows) - 3})', 'value': sum(r['value'] for r in rows[3:])})",
        {"chart_type": "bar", "x": "company", "y": "value", "unit": "EUR"},
        lambda result: [
            *((top := sorted(([row[0], row[1]] for row in members(result)), key=lambda row: -row[1]))[:3]),
            [f"Other ({len(top) - 3})", sum(row[1] for row in top[3:])],
        ],
    ),
    "a margin that a script divides": DrawnChart(
        "run_metric",
        {**BY_MONTH, "metrics": ["revenue", "gross_profit"], "scenarios": [ACTUAL]},
        f"w = {PERIODS}.pivot(on='metric', index='period', values='value')\n"
        "result = w.select('period', margin=pl.col('gross_profit') / pl.col('revenue'))",
        {"chart_type": "line", "x": "period", "y": "margin", "unit": "fraction"},
        lambda result: [[row["key"], row["values"][1] / row["values"][0]] for row in result["rows"][:-1]],
    ),
    "running sums": DrawnChart(
        "run_metric",
        {**BY_MONTH, "scenarios": [ACTUAL]},
        f"result = {PERIODS}.select('period', total=pl.col('value').cum_sum())",
        {"chart_type": "area", "x": "period", "y": "total", "unit": "EUR"},
        lambda result: [
            [row["key"], total]
            for row, total in zip(
                result["rows"][:-1], accumulate(row["values"][0] for row in result["rows"][:-1]), strict=True
            )
        ],
    ),
    "moving means with functions and a loop": DrawnChart(
        "run_metric",
        {**BY_MONTH, "scenarios": [ACTUAL]},
        "import statistics\n\ndef mean(part: list) -> float:\n    return statistics.fmean(part)\n\n"
        f"rows = {PERIODS}.sort('period')\nperiods, values = rows['period'].to_list(), rows['value'].to_list()\n"
        "result = {'period': [], 'mean': []}\nfor i in range(2, len(values)):\n"
        "    result['period'].append(periods[i])\n    result['mean'].append(mean(values[i - 2:i + 1]))",
        {"chart_type": "line", "x": "period", "y": "mean", "unit": "EUR"},
        lambda result: [
            [row["key"], mean]
            for row, mean in zip(
                result["rows"][2:-1], moving([row["values"][0] for row in result["rows"][:-1]], 3), strict=True
            )
        ],
    ),
    "changes from month to month": DrawnChart(
        "run_metric",
        {**BY_MONTH, "scenarios": [ACTUAL]},
        f"d = {PERIODS}.select('period', change=pl.col('value').diff())\nresult = d.drop_nulls()",
        {"chart_type": "bar", "x": "period", "y": "change", "unit": "EUR", "favourable": "up"},
        lambda result: [
            [after["key"], after["values"][0] - before["values"][0]] for before, after in pairwise(result["rows"][:-1])
        ],
    ),
    "lines of a statement": DrawnChart(
        "run_statement",
        PNL,
        "result = df.filter(pl.col('alias') == 'Actuals', pl.col('level') == 0, pl.col('unit') == 'EUR')",
        {"chart_type": "horizontal_bar", "x": "label", "y": "value"},
        lambda result: [
            [row["label"], row["values"][0]]
            for row in result["rows"]
            if row["level"] == 0 and row["unit"] == "EUR" and row["kind"] != "header"
        ],
    ),
    "rows of the ledger by entity": DrawnChart(
        "inspect_rows",
        ROWS,
        "result = df.group_by('entity').agg(pl.col('contribution').sum()).sort('entity')",
        {"chart_type": "bar", "x": "entity", "y": "contribution", "unit": "EUR"},
        lambda result: [list(pair) for pair in sorted(added(result["rows"], *places(result)).items())],
    ),
    "days as dates": DrawnChart(
        "inspect_rows",
        ROWS,
        "result = df.with_columns(pl.col('date').str.to_date()).group_by('date').agg(pl.len().alias('n')).sort('date')",
        {"chart_type": "bar", "x": "date", "y": "n"},
        lambda result: [
            [day, count] for day, count in sorted(added([[row[0], 1] for row in result["rows"]], 0, 1).items())
        ],
    ),
}


def places(result: Mapping[str, Any]) -> tuple[int, int]:
    """Return where the entity and the contribution of a row stand."""
    names = [column["name"] for column in result["columns"]]
    return names.index("entity"), names.index("contribution")


def drawn(books: McpBooks, reference: str | list[str], code: str, **spec: Any) -> dict[str, Any]:
    """Draw a chart, which must be drawn."""
    references = [reference] if isinstance(reference, str) else reference
    asked = {"chart_type": "bar", "title": "A chart", **spec}
    return books.ask("eval_chart_transform", data_refs=references, transform_code=code, chart_spec=asked)


def close(found: Rows, expected: Rows) -> bool:
    """Tell whether rows are the same, figures to 12 digits."""
    return len(found) == len(expected) and all(
        one == pytest.approx(other, rel=1e-12) if isinstance(other, float) else one == other
        for row, right in zip(found, expected, strict=True)
        for one, other in zip(row, right, strict=True)
    )
