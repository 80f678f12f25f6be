"""The language of a script: what works gives what plain CPython gives, what does not says what to use instead."""

from types import ModuleType

import pytest

from sandbox.guards import SURFACE, resolve
from sandbox.job import Failure, JobResult
from sandbox.script import run
from tests.unit.sandbox.legit import FRAMES, LEGIT, Script, as_told, frames_of, ordered, plainly


def rows_of(outcome: JobResult) -> list[dict[str, object]]:
    """Return an outcome's rows by column."""
    names = [column.name for column in outcome.columns]
    return [dict(zip(names, row, strict=True)) for row in outcome.rows]


def failure_of(code: str) -> Failure:
    """Run a script that must fail."""
    failure = run(code, [FRAMES["pnl"].clone()]).failure
    assert failure is not None
    return failure


@pytest.mark.parametrize("case", LEGIT, ids=lambda case: case.id)
def test_a_transform_gives_what_plain_python_gives(case: Script) -> None:
    outcome = run(case.code, frames_of(case.needs))
    assert outcome.failure is None
    assert ordered(rows_of(outcome)) == ordered(plainly(case))


@pytest.mark.parametrize("place", SURFACE)
def test_every_public_name_of_polars_was_looked_at(place: str) -> None:
    reviewed = SURFACE[place]
    public = {
        name
        for name in dir(resolve(place))
        if not name.startswith("_")
        # who imports a module of polars' own adds it to polars
        and not (isinstance(getattr(resolve(place), name), ModuleType) and name not in reviewed.denied)
    }
    assert public == reviewed.allowed | set(reviewed.denied), "decide over the new names in sandbox/surface.json"
    assert not reviewed.allowed & set(reviewed.denied)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import os", "refused", ["line 1", "os cannot be imported", "math", "frames"]),
        ("x = 1\nimport polars._plr", "refused", ["line 2", "polars._plr cannot be imported"]),
        ("from polars import config", "refused", ["line 1", "polars.config", "is not available"]),
        ("from polars import read_csv", "refused", ["line 1", "reads and writes nothing"]),
        ("result = pl.read_csv('x')", "refused", ["line 1", "polars.read_csv", "left in result"]),
        ("result = df.write_csv()", "refused", ["line 1", "DataFrame.write_csv", "left in result"]),
        ("result = df.sql('select 1')", "refused", ["line 1", "DataFrame.sql", "group_by"]),
        ("result = df.pipe(len)", "refused", ["line 1", "DataFrame.pipe", "map_elements"]),
        ("result = df.to_pandas()", "refused", ["line 1", "to_dicts()"]),
        ("result = df.\\\n  grupo_by('line')", "failed", ["line 1", "did you mean group_by"]),
        ("result = pl.summ('x')", "failed", ["line 1", "did you mean sum"]),
        ("class A:\n  pass", "refused", ["line 1", "no classes", "functions"]),
        ("def f():\n  yield 1", "refused", ["line 2", "yield", "list"]),
        ("with df as x:\n  pass", "refused", ["line 1", "no with"]),
        ("match 1:\n  case 1: pass", "refused", ["line 1", "if and elif"]),
        ("df.columns = []", "refused", ["line 1", "columns cannot be set"]),
        ("df['x'] = 1", "refused", ["line 1", "with_columns"]),
        ("x = df._df", "refused", ["line 1", "_df"]),
        ("result = '{0.x}'.format(1)", "refused", ["line 1", "{0.x}", "take the value out"]),
        ("result = open('x')", "failed", ["line 1", "'open'", "df and frames"]),
        ("result = pd.DataFrame()", "failed", ["line 1", "pandas", "polars"]),
        ("result = = 1", "refused", ["line 1", "invalid syntax", "result = = 1"]),
        ("result = " + "-" * 100_000 + "1", "refused", ["cannot be parsed", "shorter"]),
        ("result = [" + "1, " * 7_000 + "]", "refused", ["6000 parts", "loops"]),
        ("x = 1", "failed", ["no result", "DataFrame", "list of dicts"]),
        ("result = pl", "failed", ["Facade", "DataFrame"]),
        ("result = []", "failed", ["no columns"]),
        ("result = [{1: 2}]", "failed", ["column named", "short text"]),
        ("result = [{'a': {}}]", "failed", ["column a", "dict"]),
        ("result = [{'a': 1}, {'a': 'x'}]", "failed", ["column a", "integer and text"]),
        ("result = [{'a': [[1]]}]", "failed", ["column a", "explode"]),
        ("result = {'a': [1], 'b': []}", "failed", ["different lengths"]),
        ("result = [{'a': i} for i in range(9999)]", "limit", ["9,999 rows", "5,000", "head()"]),
        ("result = [{'a': 'x' * 9999}]", "limit", ["column a", "2,000"]),
        ("result = pl.Series('x', [max], dtype=None).to_frame()", "failed", ["column x", "Python objects"]),
        ("def f(n):\n  return f(n)\nf(1)", "failed", ["line 2", "RecursionError", "loop"]),
        ("\nresult = frames[9]", "failed", ["line 2", "IndexError"]),
        ("\n1 / 0", "failed", ["line 2", "ZeroDivisionError"]),
        ("raise ValueError('x' * 10**6)", "failed", ["line 1", "ValueError"]),
        ("result = df.select('nope')", "failed", ["line 1", "nope"]),
        ("df.select(pl.col('x'), **{'_eager': 1})", "refused", ["_eager"]),
    ],
)
def test_a_failure_tells_line_cause_and_what_to_use(code: str, kind: str, words: list[str]) -> None:
    failure = failure_of(code)
    assert failure.kind == kind, failure.message
    assert all(word in failure.message for word in words), failure.message
    assert len(failure.message) <= 500


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("x: int = 1\nx += 1\nresult = [{'v': x}]", 2),
        ("d = {'a': [1]}\nd['a'] += [2]\nd['a'][0] *= 5\nresult = [{'v': sum(d['a'])}]", 7),
        ("n = []\nd = [0, 0]\nd[n.append(1) or len(n) - 1] += 3\nresult = [{'v': d[0] + len(n)}]", 4),
        ("def f(a: int, *b: str) -> int:\n  return a\nresult = [{'v': f(1)}]", 1),
        ("result = [{'v': '{:,.1f} {a:>3}'.format(1234.56, a=1)}]", "1,234.6   1"),
        ("from datetime import date, datetime\nresult = [{'v': date(2025, 1, 31).strftime('%b')}]", "Jan"),
        ("from datetime import datetime\nresult = [{'v': datetime.strptime('2025', '%Y').year}]", 2025),
        ("import re\nresult = [{'v': re.sub(r'(a)', r'\\1b', 'a')}]", "ab"),
        ("import polars.selectors as cs\nresult = pl.DataFrame({'v': [1], 'w': ['x']}).select(cs.numeric())", 1),
        ("import polars.selectors\nresult = pl.DataFrame({'v': [1]}).select(polars.selectors.all())", 1),
        ("from __future__ import annotations\nresult = [{'v': 1}]", 1),
        ("result = [{'v': 2 ** 70}]", str(2**70)),
        ("result = [{'v': 10 ** 400}]", str(10**400)),
        ("result = [{'v': float('inf')}]", None),
        ("result = [{'v': chr(0xd800)}]", "?"),
        ("result = pl.DataFrame({'v': [1]}).select(pl.col.v + 1)", 2),
        ("a, (b, *c) = 1, (2, 3, 4)\nresult = [{'v': sum(c)}]", 7),
        ("result = pl.Series('v', [3])", 3),
    ],
)
def test_what_scripts_write_works(code: str, value: object) -> None:
    outcome = run(code, [])
    assert outcome.failure is None
    assert rows_of(outcome) == [{"v": as_told(value)}]


def test_what_is_printed_is_cut_and_kept_beside_a_failure() -> None:
    outcome = run("def f():\n  print('b', 1, sep='-')\nprint('a', end='')\nf()\nprint('x' * 99999)\n1 / 0", [])
    assert outcome.printed.startswith("ab-1\nxxx")
    assert len(outcome.printed) == 8_192


def test_an_empty_frame_keeps_the_kinds_of_its_columns() -> None:
    outcome = run("result = frames[0].head(0)", [FRAMES["daily"]])
    assert [column.kind for column in outcome.columns] == ["date", "number"]
    assert outcome.rows == ()
