"""From a cell of a result to the inspect_rows calls behind it, as a model would put them together."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import product
from typing import Any

Json = dict[str, Any]
Inspect = Callable[[Json], Json]  # arguments of inspect_rows to its result


def joined(*parts: Mapping[str, Any]) -> Json:
    """Return the union of drill parts, the later ones winning."""
    call: Json = {}
    for part in parts:
        filters = {**call.get("filters", {}), **part.get("filters", {})}
        call = {**call, **part, **({"filters": filters} if filters else {})}
    return call


def calls(row: Json, column: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the sign of its side, the operand and the arguments of every call behind a cell.

    A row of members that adds nothing, such as a total, has no part; the line or metric has one, or no rows.
    """
    row_drill, column_drill = row.get("drill", {}), column["drill"]
    sides = column_drill.get("sides") or [{}]
    operands = row_drill.get("operands") or column_drill.get("operands") or [{}]
    for side, operand in product(sides, operands):
        call = joined(column_drill, side, row_drill, operand)
        sign = call.pop("sign", "+")
        for name in ("sides", "operands"):
            call.pop(name, None)
        yield sign, call["filters"]["metric"], call


def exactly(value: float | str | None) -> Decimal | None:
    """Return a figure of a result as the decimal it says."""
    return None if value is None else Decimal(str(value))


def figure_behind(call: Json, inspect: Inspect) -> Decimal | None:
    """Return the figure that a call's rows make, after holding the rows against what it says of them."""
    result = inspect(call)
    assert not result["truncated"]
    assert not result["agent_truncated"]
    total = exactly(result["contribution_total"])
    contributed = [exactly(row[-1]) or Decimal(0) for row in result["rows"]]
    assert bool(contributed) is (total is not None)
    if total is not None:
        assert abs(sum(contributed, Decimal(0)) - total) <= Decimal(10) ** (total.adjusted() - 13)
    return exactly(result["figure"])
