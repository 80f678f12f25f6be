"""From a cell of a result to the inspect_rows calls behind it, as a model would put them together."""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import product
from typing import Any

from engine.model.notes import BLANKS

Json = dict[str, Any]
PLACEHOLDER = re.compile(r"\{((?:row|column|metric|scenario)\.[^{}]+)\}")
VARIANCE = re.compile(r"var(?:_pct)?\(([^(),]+),([^(),]+)\)")
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

    The row and column are as tests.support.answers.reader fills them in. A cell without rows behind it has no calls.
    """
    metric = column.get("of_metric", {})
    own = [part["drill"] for part in (column, row, metric) if "drill" in part]
    if not column["template"] or None in own or row["kind"] == "header":
        return
    of_row = {} if row["kind"] == "total" else row
    template = dict(filled(column["template"], {"row": of_row, "column": column, "scenario": column, "metric": metric}))
    assert template.pop("tool") == "inspect_rows"
    sides = column.get("drill", {}).get("sides") or sides_of(column["scenario"])
    for side, operand in product(sides, row.get("operands") or metric.get("operands") or [{}]):
        of_operand = {"filters": {"metric": operand}} if isinstance(operand, str) else operand
        call = joined(template, own[0] if "drill" in column else {}, side, *own["drill" in column :], of_operand)
        sign = call.pop("sign", "+")
        call.pop("sides", None)
        yield sign, call["filters"]["metric"], call


def sides_of(reference: str) -> list[Json]:
    """Return the sides that the reference of a column says, of whatever is no variance none of its own."""
    variance = VARIANCE.fullmatch(reference)
    return [{"scenario_id": variance[1]}, {"sign": "-", "scenario_id": variance[2]}] if variance else [{}]


def calls_of_block(row: Json, column: Json) -> Iterator[tuple[str, Json]]:
    """Yield the sign and the arguments of every call behind a cell of a render block, which has parts of its own."""
    of_row, of_column = row.get("drill", {}), column.get("drill", {})
    if not {"source_key", "operands"} & {*of_row, *of_column}:
        return
    operands = of_row.get("operands") or of_column.get("operands") or [{}]
    for side, operand in product(of_column.get("sides") or [{}], operands):
        call = joined(of_column, side, of_row, operand)
        sign = call.pop("sign", "+")
        yield sign, {key: part for key, part in call.items() if key not in ("sides", "operands")}


def filled(part: Mapping[str, Any], known: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a template with their placeholders filled; those that find no value are left out."""
    for key, text in part.items():
        if isinstance(text, dict):
            yield key, dict(filled(text, known))
        elif isinstance(text, str):
            missing = False

            def value(found: re.Match[str]) -> str:
                nonlocal missing
                place: Any = known
                for name in found[1].split("."):
                    place = place.get(name) if isinstance(place, Mapping) else None
                missing = missing or place is None
                return str(place)

            said = PLACEHOLDER.sub(value, text)
            if not missing:
                yield key, said
        else:
            yield key, text


def exactly(value: float | str | None) -> Decimal | None:
    """Return a figure of a result as the decimal it says."""
    return None if value is None else Decimal(str(value))


def digits(value: object) -> Decimal:
    """Return a figure of a result that has one as the decimal it says."""
    assert value is not None
    return Decimal(str(value))


def figure_behind(call: Json, inspect: Inspect) -> Decimal | None:
    """Return the figure that a call's rows make, after holding the rows against what it says of them."""
    result = inspect(call)
    assert not result["truncated"]
    assert not result["agent_truncated"]
    total = exactly(result["contribution_total"])
    contributed = [exactly(row[-1]) or Decimal(0) for row in result["rows"]]
    assert bool(contributed) is (total is not None)
    causes = [note for note in result.get("notes", ()) if note["code"] in BLANKS]
    assert len(causes) == int(total is None)  # each null is covered by one note
    if total is not None:
        lost = sum(map(rounding, (*contributed, total)), Decimal(0))
        assert abs(sum(contributed, Decimal(0)) - total) <= lost
    return exactly(result["figure"])


def rounding(figure: Decimal) -> Decimal:
    """Return the most that rounding to 15 digits may have taken off a figure."""
    return Decimal(5).scaleb(figure.adjusted() - 15)


def calls_explained(answer: Json, found: Json, row: Json) -> Iterator[tuple[str, Json]]:
    """Yield the sign of its side and the arguments of every call behind a row of an explained variance."""
    if "drill" not in answer or ("drill" in row and row["drill"] is None):
        return
    template = dict(filled(joined(answer["drill"], found.get("drill", {})), {"row": row}))
    call = joined(template, row.get("drill", {}))
    assert call.pop("tool") == "inspect_rows"
    sides, operands = call.pop("sides"), call.pop("operands", [{}])
    for side, operand in product(sides, operands):
        of_operand = {"filters": {"metric": operand}} if isinstance(operand, str) else operand
        made = joined(call, side, of_operand)
        yield made.pop("sign", "+"), made
