"""Doubts: files that can be read in two ways, refused with both readings and the keys that decide."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.feeds.feeds import Binding
from server.files.extract_columns import ExtractColumns
from server.files.findings import Ambiguity, Reading
from server.files.notation import detect_factor
from server.files.rejects import VALIDATE, LoadFailed
from server.files.reshape import chosen_columns

DECIMAL, THOUSANDS, NEGATIVE = "numbers.decimal", "numbers.thousands", "numbers.negative"
NONE, FACTOR = "numbers.none", "numbers.factor"
FORMAT, MONTHS, SEPARATOR = "dates.format", "dates.months", "csv.separator"
FILE: Final = "integrations.yaml"


def undecided(name: str, ambiguity: Ambiguity, feed: str) -> LoadFailed:
    """Return the failure of a file that can be read in two ways."""
    mend = f"write one of them under {feed} in {FILE}"
    recorded = f"{name}: {ambiguity.without_texts}; {mend}"
    return LoadFailed(VALIDATE, f"{name}: {ambiguity}; {mend}", recorded=recorded)


def refuse_factor(
    binding: Binding, columns: ExtractColumns, name: str, titles: Sequence[tuple[int, str]], names: Sequence[str]
) -> None:
    """Raise LoadFailed if a title or an amount's name speaks of millions, and no key says what amounts are in."""
    if binding.format.numbers.factor is not None or not columns.amounts or binding.fills_rates:
        return
    heading, amounts = max((row for row, _ in titles), default=0) + 1, set(columns.amounts)
    if (unpivot := binding.format.unpivot) and names and binding.format.sql is None:
        amounts.update(chosen_columns(unpivot.columns, names, name))
    found = detect_factor(titles, {column: heading for column in names if column in amounts})
    if found.decided:
        (said,) = found.decided
        ways = (
            Reading({FACTOR: "1"}, "amounts as they stand"),
            Reading({FACTOR: said.value}, "amounts times that"),
        )
        raise undecided(name, Ambiguity(FACTOR, said.evidence, ways), binding.key)


def without_words(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys without the texts of rows that mean no figure, for messages that hold no value of a row."""
    return {key: value for key, value in keys.items() if key != NONE}
