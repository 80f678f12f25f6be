"""The lock of statements: every select that reads a table of facts names its parts and restricts its rows to the cell.

Each statement that a test sends is parsed by sqlglot. What its tests admit is computed from the parsed tree, for leaves
around every code that the cell names, and compared with the cell itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from types import MappingProxyType
from typing import Any

import sqlglot
from sqlglot import exp

from engine.model.scope import ALL_CODES, Cell, Conjunction
from server.warehouses.statements import StatementText
from server.warehouses.tables import PART
from server.warehouses.warehouse import SqlStatement

MOST_LEAVES = 200  # that a statement is tried on


class LockedText(StatementText):
    """A text of which every statement is held to the lock as it is made."""

    parts: frozenset[int]
    scenario: str | None = None  # of an attached table, which has those of others too
    ids: Mapping[str, Sequence[str]] = {}  # of the members of an attached table, in code order

    def _made(self, text: str) -> SqlStatement:
        made = super()._made(text)
        hold_to_lock(made, self._dialect.name, self._table.name[-1], self.parts, self._within, self.ids, self.scenario)
        return made


def hold_to_lock(
    made: SqlStatement,
    dialect: str,
    table: str,
    parts: frozenset[int],
    within: Cell,
    ids: Mapping[str, Sequence[str]] = MappingProxyType({}),
    scenario: str | None = None,
) -> None:
    """Raise AssertionError if a select reads other parts of a table, or other rows, than it may."""
    parsed = sqlglot.parse_one(made.text, dialect=dialect)
    reading = [select_around(found) for found in parsed.find_all(exp.Table) if is_table(found, table)]
    assert reading, made.text
    if scenario is not None:  # the rows of an attached table are a select of it, around which the tests stand
        assert all(
            scenario in {known.this for known in select.find_all(exp.Literal, exp.ByteString)} for select in reading
        ), made.text
        reading = [select_around(select) for select in reading]
    for select in reading:
        tests = list(conjuncts(select.args["where"].this))
        columns = [{column.name for column in test.find_all(exp.Column)} for test in tests]
        named = [test for test, of in zip(tests, columns, strict=True) if PART in of]
        assert len(named) == 1, made.text
        assert codes_in(named[0], made, ids) <= parts, made.text
        rest = [test for test, of in zip(tests, columns, strict=True) if PART not in of]
        for leaf in leaves_around(within):
            if not allows(within, leaf):
                assert not all(holds(test, leaf, made, ids) for test in rest if names_only(test, leaf)), made.text


def select_around(part: exp.Expr) -> exp.Select:
    """Return the innermost select that a part stands in."""
    found = part.find_ancestor(exp.Select)
    assert found is not None, part.sql()
    return found


def is_table(found: exp.Table, name: str) -> bool:
    """Tell whether a table is the one of a name, or its folder in a lake."""
    return found.name.rpartition("/")[2] == name.rpartition("/")[2]


def conjuncts(test: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a test demands at once."""
    test = test.unnest()
    if isinstance(test, exp.And):
        yield from conjuncts(test.left)
        yield from conjuncts(test.right)
    else:
        yield test


def names_only(test: exp.Expr, leaf: Mapping[str, int]) -> bool:
    """Tell whether a test is about the columns of a leaf alone."""
    if isinstance(test, exp.In) and isinstance(test.this, exp.Tuple):
        return False
    names = {column.name for column in test.find_all(exp.Column)}
    names -= {known for known in names if known.isdigit() or known == "value"}  # of a list
    return all(name in leaf or name.startswith("tieout_") for name in names)


def leaves_around(within: Cell) -> Iterator[Mapping[str, int]]:
    """Yield leaves of the codes and amounts that a cell names, and of some beside them."""
    values: dict[str, set[int]] = {}
    for part in within:
        for key, codes in part.by_dimension:
            some = sorted(codes.codes)
            values.setdefault(key, set()).update([*some[:3], *some[-2:], max(some, default=0) + 1, 0])
        for known in part.amounts:
            values.setdefault(known.measure, set()).update([known.least - 1, known.least, known.most, known.most + 1])
    named = (dict(zip(values, leaf, strict=True)) for leaf in product(*map(sorted, values.values())))
    return islice(named, MOST_LEAVES)


def allows(within: Cell, leaf: Mapping[str, int]) -> bool:
    """Tell whether a cell contains a leaf."""
    return any(allows_part(part, leaf) for part in within)


def allows_part(part: Conjunction, leaf: Mapping[str, int]) -> bool:
    """Tell whether a conjunction contains a leaf."""
    codes = all(leaf[key] in part.codes.get(key, ALL_CODES) for key, _ in part.by_dimension)
    amounts = ((known.least <= leaf[known.measure] <= known.most) is not known.complement for known in part.amounts)
    return codes and all(amounts)


def codes_in(test: exp.Expr, made: SqlStatement, ids: Mapping[str, Sequence[str]]) -> frozenset[int]:
    """Return the integers, or codes, that `column in (…)` lists, binds, or reads from a table beside the statement."""
    found = test.unnest()
    assert isinstance(found, exp.In), test.sql()
    places = (int(str(known.name).removeprefix("p")) for known in found.find_all(exp.Parameter, exp.Placeholder))
    of_column = {id_: code for code, id_ in enumerate(ids.get(found.this.name, ()))}
    lists = [made.parameters[place - 1] for place in places]
    values = (value for listed in lists for value in (first_column(listed) if isinstance(listed, str) else listed))
    bound = frozenset(of_column.get(value, value) for value in values)
    beside = frozenset(code for table in found.find_all(exp.Table) for code in made.sets.get(table.name, [[]])[0])
    listed = frozenset(of_column[known.name] if of_column else number(known) for known in found.expressions)
    written = (of_column[id_] for id_ in written_ids(found)) if of_column else written_codes(found)
    return bound | beside | listed | frozenset(written)


def first_column(listed: str) -> list[Any]:
    """Return the first of each of the rows that a text of JSON lists."""
    return [first for first, *_ in json.loads(listed)]


def written_codes(found: exp.In) -> Iterator[int]:
    """Yield the integers of texts that `column in (select …)` splits."""
    for text in found.find_all(exp.Literal):
        if "," in text.name:
            yield from map(int, filter(None, text.name.split(",")))


def written_ids(found: exp.In) -> Iterator[str]:
    """Yield the texts of a text that `column in (select …)` splits."""
    for split in found.find_all(exp.RegexpSplit, exp.Split):
        yield from split.this.name.split(split.expression.name)


def holds(test: exp.Expr, leaf: Mapping[str, int], made: SqlStatement, ids: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether a test holds for a leaf."""
    match test:
        case exp.Paren():
            return holds(test.this, leaf, made, ids)
        case exp.And():
            return holds(test.left, leaf, made, ids) and holds(test.right, leaf, made, ids)
        case exp.Or():
            return holds(test.left, leaf, made, ids) or holds(test.right, leaf, made, ids)
        case exp.Not():
            return not holds(test.this, leaf, made, ids)
        case exp.In():
            return leaf[test.this.name] in codes_in(test, made, ids)
        case exp.Between():
            return number(test.args["low"]) <= leaf[test.this.name] <= number(test.args["high"])
        case exp.EQ():
            return number(test.left) == number(test.right)
    raise AssertionError(test.sql())


def number(found: exp.Expr) -> int:
    """Return a literal."""
    return -number(found.this) if isinstance(found, exp.Neg) else int(found.name)
