"""Findings: what the texts of a file say of the keys that read it, with the texts that decided each."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl
from msgspec import Struct

TEXTS = 4_000  # distinct texts of a column that findings are made of
EQUALS = "skip.equals"  # the texts whose rows are left out, by column
ROW_LIMIT = 3  # texts that are named as evidence of one key


class SampleFault(Exception):
    """A file or table cannot be sampled; the message says what is wrong with it and what would be right."""


class Finding(Struct, frozen=True):
    """The value of one key of integrations.yaml, written as `numbers.decimal`, and what decided it."""

    key: str
    value: Any  # as YAML holds it
    evidence: str


class Reading(Struct, frozen=True):
    """One of the ways in which a text can be read, and what the text then means."""

    keys: Mapping[str, Any]  # keys of integrations.yaml, written as `numbers.decimal`, to their values
    meaning: str


class Ambiguity(Struct, frozen=True):
    """A text that can be read in several ways, and the key that decides between them."""

    key: str
    evidence: str
    readings: tuple[Reading, ...]

    def __str__(self) -> str:
        if not self.readings:
            return f"{self.evidence}; say {self.key.replace('.', ': {', 1)}{': …}' if '.' in self.key else ': …'}"
        ways = (f"{reading.meaning} with {written_keys(reading.keys)}" for reading in self.readings)
        return f"{self.evidence} can be read in {len(self.readings)} ways: {', or '.join(ways)}"

    @property
    def without_texts(self) -> str:
        """The same without a text of the file."""
        ways = ", or ".join(f"with {written_keys(reading.keys)}" for reading in self.readings)
        return f"{place_of(self.evidence)} can be read in {len(self.readings)} ways: {ways}"


class SampleQuestion(SampleFault):
    """A file can be read in several ways, and nobody said in which."""

    def __init__(self, name: str, ambiguity: Ambiguity) -> None:
        super().__init__(f"{name}: {ambiguity}")
        self.name = name
        self.ambiguity = ambiguity


class Findings(Struct, frozen=True):
    """What was found of one file: keys that are decided, and those that are not."""

    decided: tuple[Finding, ...] = ()
    ambiguities: tuple[Ambiguity, ...] = ()

    @property
    def keys(self) -> dict[str, Any]:
        """The decided keys, nested as in integrations.yaml."""
        return nested({finding.key: finding.value for finding in self.decided})

    def value(self, key: str) -> Any:  # noqa: ANN401 - what YAML holds
        """Return the value of a key; None if it was left open or is not needed."""
        return next((finding.value for finding in self.decided if finding.key == key), None)

    def and_(self, *others: "Findings") -> "Findings":
        """Return these findings and others; the first one of a key counts, and rows to leave out add up."""
        decided: dict[str, Finding] = {}
        for findings in (self, *others):
            for finding in findings.decided:
                first = decided.setdefault(finding.key, finding)
                if finding.key == EQUALS and first is not finding:
                    decided[EQUALS] = both_left_out(first, finding)
        open_ = (ambiguity for findings in (self, *others) for ambiguity in findings.ambiguities)
        return Findings(tuple(decided.values()), tuple(open_))

    def answered(self, answers: Mapping[str, Any]) -> "Findings":
        """Return these findings with keys answered, written as `numbers.decimal`; an answer decides its ambiguity."""
        given = tuple(Finding(key, value, "answered") for key, value in answers.items())
        open_ = tuple(one for one in self.ambiguities if one.key not in answers)
        return Findings((*given, *(one for one in self.decided if one.key not in answers)), open_)


def both_left_out(first: Finding, other: Finding) -> Finding:
    """Return the texts whose rows two findings leave out, by their columns."""
    texts = {
        column: list(dict.fromkeys([*first.value.get(column, ()), *other.value.get(column, ())]))
        for column in {**first.value, **other.value}
    }
    return Finding(EQUALS, texts, "; ".join(dict.fromkeys(filter(None, (first.evidence, other.evidence)))))


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys such as `numbers.decimal` as nested mappings."""
    tree: dict[str, Any] = {}
    for key, value in keys.items():
        first, _, rest = key.partition(".")
        if rest:
            tree.setdefault(first, {})[rest] = value
        else:
            tree[first] = value
    return tree


def flattened(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings as keys such as `numbers.decimal`, one level deep."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": held for inner, held in value.items()}
        else:
            flat[key] = value
    return flat


def written_keys(keys: Mapping[str, Any]) -> str:
    """Return keys as YAML on one line, such as `numbers: {decimal: ","}`."""
    parts = []
    for key, value in nested(keys).items():
        held = (
            "{" + ", ".join(f"{inner}: {written_value(text)}" for inner, text in value.items()) + "}"
            if isinstance(value, dict)
            else written_value(value)
        )
        parts.append(f"{key}: {held}")
    return ", ".join(parts)


def written_value(value: Any) -> str:  # noqa: ANN401 - what YAML holds
    """Return a value as YAML on one line."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'
    return str(value)


# Samples: the texts that findings are made of.


class SampleTable(Struct, frozen=True, kw_only=True):
    """Some rows of one table as text, with the row numbers that a spreadsheet shows."""

    name: str
    frame: pl.DataFrame  # of texts; empty texts are null
    rows: pl.Series  # Int64; null for a row whose number is unknown, because the file was not read up to it

    def texts(self, column: str) -> pl.DataFrame:
        """Return distinct texts of a column, evenly chosen where there are very many.

        Columns: text, row (the first one), times; in the order of the rows.
        """
        found = self.all_texts(column)
        return found.gather_every(-(-found.height // TEXTS)) if found.height > TEXTS else found

    def all_texts(self, column: str) -> pl.DataFrame:
        """Return every distinct text of a column in the order of their first rows: text, row, times."""
        texts = pl.DataFrame({"text": self.frame[column].str.strip_chars(), "row": self.rows})
        filled = texts.filter(pl.col("text").is_not_null() & (pl.col("text") != ""))
        return filled.group_by("text", maintain_order=True).agg(pl.col("row").first(), pl.len().alias("times"))

    def blanks(self, column: str) -> pl.Series:
        """Return the row numbers in which a column is empty."""
        empty = self.frame[column].str.strip_chars().fill_null("") == ""
        return self.rows.filter(empty)


def located(column: str, texts: Iterable[tuple[str, int | None]]) -> str:
    """Return texts of a column with their rows, such as `Betrag, row 4: '1.234,56'`."""
    return f"{column}, " + ", ".join(f"{at_row(row)}: '{text}'" for text, row in first_few(texts))


def place_of(evidence: str) -> str:
    """Return the column and the row of an evidence, without the text that stands there."""
    return evidence.partition(": '")[0]


def at_row(row: int | None) -> str:
    """Return a row number in words."""
    return "further down" if row is None else f"row {row}"


def first_few(texts: Iterable[tuple[str, int | None]]) -> Iterator[tuple[str, int | None]]:
    """Yield the first texts."""
    yield from (pair for pair, _ in zip(texts, range(ROW_LIMIT), strict=False))
