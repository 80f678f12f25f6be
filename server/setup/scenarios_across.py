"""Scenarios across: amounts of actual and budget side by side, made a table each; their variance is a check."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.notation import NumberColumn, amounts_in
from server.files.sampling import SourceTable
from server.setup.answers import FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.dimensions import Guess
from server.setup.figures import are_amounts, exact_figures, largest, volume
from server.setup.questions import Choice, OpenQuestion
from server.setup.words import named, without_scenario

VARIANCE_WORDS: Final = named(
    "variance|variances|var|diff|difference|delta|abweichung|differenz|écart|ecart|afwijking|desviación|scostamento"
)
RATES: Final = re.compile(r"%|percent|prozent|(?<![^\W_])pct(?![^\W_])", re.IGNORECASE)
FEWEST: Final = 2  # scenarios that stand side by side
Columns = Mapping[str, Mapping[str, str]]  # kind of scenario -> what its names say otherwise -> column


class SplitTable(Struct, frozen=True):
    """The tables of the scenarios of one table, what was found on the way, and what has to be asked."""

    tables: Sequence[SourceTable]
    guesses: Sequence[Guess] = ()
    questions: Sequence[OpenQuestion] = ()


def split_by_scenario(table: SourceTable, said: FileAnswers) -> SplitTable:
    """Return a table for each scenario whose amounts stand across; a table as it is if none does."""
    numbers = {name: one for name in table.columns if are_amounts(one := amounts_in(table.sample, name))}
    groups = scenario_columns([name for name in numbers if name not in said.columns])
    if len(groups) < FEWEST or len({frozenset(group) for group in groups.values()}) > 1:
        return SplitTable([table])
    checks = variance_columns(table.sample.frame, numbers, groups)
    across = {column for group in groups.values() for column in group.values()}
    shared = [name for name in table.columns if name not in across and name not in checks]
    wrong = [name for name, why in checks.items() if why is None and said.columns.get(name) is not ColumnRole.UNUSED]
    frame = table.sample.frame
    tables, guesses = [], []
    for kind, group in groups.items():
        columns = [*shared, *(name for name in table.columns if name in group.values())]
        sample = replace(table.sample, name=f"{table.name} [{kind}]", frame=frame.select(columns))
        tables.append(replace(table, sample=sample, scenario=kind))
        guesses += [Guess(table=sample.name, what=f"{', '.join(group.values())}: {kind}", evidence="their names")]
    guesses += [
        Guess(table=tables[0].name, what=f"{name}: not loaded", evidence=why) for name, why in checks.items() if why
    ]
    return SplitTable(tables, guesses, [question(table, numbers[name], groups) for name in wrong])


def scenario_columns(names: Sequence[str]) -> Columns:
    """Return the columns whose names say one kind of scenario, by it and by what they say otherwise."""
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        kind, rest = without_scenario(name)
        if kind is not None and not VARIANCE_WORDS.search(rest):
            if rest in groups.setdefault(kind, {}):
                return {}
            groups[kind][rest] = name
    return groups


def variance_columns(
    frame: pl.DataFrame, numbers: Mapping[str, NumberColumn], groups: Columns
) -> dict[str, str | None]:
    """Return the columns that are named variances, each with the amounts of which it is the difference in every row.

    A percentage is named without proof: it is no amount. None is a variance that is no difference.
    """
    found: dict[str, str | None] = {}
    for name in numbers:
        if not VARIANCE_WORDS.search(name.replace("_", " ")):
            continue
        is_rate = RATES.search(name) is not None
        found[name] = "its name says percent" if is_rate else difference(frame, numbers, groups, name)
    return found


def difference(frame: pl.DataFrame, numbers: Mapping[str, NumberColumn], groups: Columns, name: str) -> str | None:
    """Return of which two columns another is the difference in every row; None if of none."""
    first, *others = groups.values()
    for rest, column in first.items():
        for other in (group[rest] for group in others):
            figures = exact_figures(frame, [numbers[column], numbers[other], numbers[name]])
            one, two, variance = (figures[key].cast(pl.Int128) for key in (column, other, name))
            for minuend, subtrahend, names in ((one, two, (column, other)), (two, one, (other, column))):
                if bool((minuend - subtrahend == variance).all()) and bool((variance != 0).any()):
                    return f"{names[0]} less {names[1]} in every row, so that it is a check"
    return None


def question(table: SourceTable, number: NumberColumn, groups: Columns) -> OpenQuestion:
    """Return what to ask about a variance that is no difference of two scenarios."""
    held = exact_figures(table.sample.frame, [number])[number.name]
    says = f"{number.name} is named a variance and is no difference of {' and '.join(groups)} in every row"
    choice = Choice({"columns": {number.name: "unused"}}, f"it is not loaded: {volume(held)}")
    return OpenQuestion(table.name, says, (choice,), largest(held) if held.len() else Decimal(0))
