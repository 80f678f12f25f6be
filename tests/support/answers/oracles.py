"""Oracles: figures computed elsewhere with exact decimals, and a server's answers in the shape to compare them in."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.service.servers import McpBooks

HALF_OF_TWELVE = Decimal(5).scaleb(-13)
TOTAL = "total"
Figures = dict[tuple[str, ...], Decimal | None]


def oracle_of(books: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of an oracle file of some real books."""
    data = json.loads((books / "oracles" / f"{name}.json").read_text())
    return [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]


def exactly(value: object) -> Decimal | None:
    """Return a JSON figure as its digits."""
    return None if value is None else Decimal(str(value))


def same_share(value: Decimal | None, oracle_value: str | None) -> bool:
    """Tell whether a percent of 15 significant digits is the one that an oracle rounded to 12 decimal places."""
    if value is None or oracle_value is None:
        return value is oracle_value
    return abs(value - Decimal(oracle_value)) <= HALF_OF_TWELVE


def statement(books: McpBooks, statement: str, *, scenarios: dict[str, str], **asked: Any) -> Figures:
    """Return the figures of a statement by line, alias and period (none: the total)."""
    columns = [{"scenario": reference, "alias": alias} for alias, reference in scenarios.items()]
    result = books.ask("run_statement_data", statement=statement, scenarios=columns, **asked)
    assert "agent_truncated" not in result
    return {
        (row["key"], column["alias"], *column["members"].values()): exactly(value)
        for row in result["rows"]
        for column, value in zip(result["columns"], row["values"], strict=True)
    }


def metrics(
    books: McpBooks, *names: str, scenarios: tuple[str, ...] = ("actual",), **asked: Any
) -> dict[str, list[Decimal | None]]:
    """Return the figures of metrics by member: of each metric those of every scenario; TOTAL is one of the members."""
    columns = [{"scenario": scenario, "alias": scenario} for scenario in scenarios]
    result = books.ask("run_metric_data", metrics=list(names), scenarios=columns, **asked)
    assert "agent_truncated" not in result
    return {row["key"]: [exactly(value) for value in row["values"]] for row in result["rows"]}
