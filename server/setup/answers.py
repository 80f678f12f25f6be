"""Answers: what somebody says of the books where files do not, from a file of answers or at a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from engine.instance.documents import InstanceFaults, read_document
from server.files.findings import Ambiguity, Findings, flattened, nested
from server.setup.column_profiles import ColumnRole
from server.setup.questions import Choice, OpenQuestion

OF_BOOKS: Final = ("name", "currency", "fiscal_year", "files")
OF_FORMATS: Final = ("csv", "numbers", "dates", "unpivot", "header_row", "period")
ZERO: Final = "zero"
CLOSING: Final = "closing"
WHOLE: Final = "whole"
FACTORS: Final = "factors"
LAST_QUARTER: Final = "last_quarter"
VALUES: Final[Mapping[str, Sequence[str]]] = {  # keys of one file that take one of some words
    "totals": ("leave_out", "keep"),
    "formulas": (ZERO,),
    "over_time": ("sum", CLOSING),
    "credits": ("negative", "positive"),
    "end": (WHOLE,),
    "ids": ("merge", "keep"),
    "units": (FACTORS,),
    "half_years": (LAST_QUARTER,),
}
OF_FILES: Final = (*OF_FORMATS, "columns", "is", "scenario", *VALUES)
KINDS: Final = ("facts", "members", "unused")


class BadAnswer(ValueError):
    """An answer is none; the message says what would be."""


class FileAnswers(Struct, frozen=True):
    """What somebody says of one file."""

    keys: Mapping[str, Any] = {}  # written as `numbers.decimal`
    columns: Mapping[str, ColumnRole] = {}
    kind: str | None = None
    scenario: str | None = None
    totals: str | None = None  # what to do with rows that words alone call totals
    formulas: str | None = None  # ZERO: those that all read 0 are 0
    over_time: str | None = None  # what amounts are: CLOSING balances, or movements that add up
    credits: str | None = None  # how they are written where most are negative
    end: str | None = None  # WHOLE: the last row is, though it looks cut
    ids: str | None = None  # what to do with those that differ in spaces or case alone
    units: str | None = None  # FACTORS: those behind amounts, as in 950K
    half_years: str | None = None  # LAST_QUARTER: the one that holds each

    def and_(self, other: "FileAnswers") -> "FileAnswers":
        """Return these answers and others of the same file, which go before."""
        return FileAnswers(
            {**self.keys, **other.keys},
            {**self.columns, **other.columns},
            *(
                getattr(self, part) if getattr(other, part) is None else getattr(other, part)
                for part in ("kind", "scenario", *VALUES)
            ),
        )


@dataclass
class Answers:
    """What somebody says of the books and of each file, and the questions that are left."""

    books: Mapping[str, Any] = field(default_factory=dict)
    every: Mapping[str, Any] = field(default_factory=dict)  # format keys of every file
    files: Mapping[str, FileAnswers] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # what nobody can answer, with the way on
    questions: list[OpenQuestion] = field(default_factory=list)

    @property
    def fiscal_start(self) -> int:
        """The first month of the fiscal year; 1 if nobody says another."""
        said = self.books.get("fiscal_year")
        start = str(said.get("starts", 1)) if isinstance(said, Mapping) else "1"
        return int(start) if start.isdecimal() else 1

    def of(self, name: str) -> FileAnswers:
        """Return what is said of a file, by its name or, of a sheet, by that of its file as well."""
        base = name.partition(" [")[0]
        said = self.files.get(base, FileAnswers())
        said = said if base == name else said.and_(self.files.get(name, FileAnswers()))
        return replace(said, keys={**self.every, **said.keys})

    def encoding_of(self, name: str) -> str | None:
        """Return the encoding that is said of a file; None if none is."""
        said = self.of(name).keys.get("csv.encoding")
        return None if said is None else str(said)

    def check_names(self, tables: Mapping[str, Sequence[str]]) -> None:
        """Raise BadAnswer if something is said of a file or a column that there is not; tables have their columns."""
        for name, said in self.files.items():
            names = {table: (table, table.partition(" [")[0]) for table in tables}
            columns = [tables[table] for table, own in names.items() if name in own or name.startswith(f"{table} [")]
            if not columns:
                raise BadAnswer(
                    f"the answers speak of {name}, and there is no file '{name}'; there are {', '.join(tables)}"
                )
            there = dict.fromkeys(chain.from_iterable(columns))
            for column in said.columns:
                if column not in there:
                    raise BadAnswer(
                        f"the answers speak of column {column} of {name}, and there is no column '{column}'; there are "
                        f"{', '.join(there)}"
                    )

    def give(self, name: str, said: Mapping[str, Any]) -> None:
        """Add what somebody answered of a file to what was said of it. Raises BadAnswer."""
        before = self.files.get(name, FileAnswers())
        self.files = {**self.files, name: before.and_(file_answers("the answer", name, said))}

    def settled(self, name: str, findings: Findings) -> Findings:
        """Return the findings of a file with its ambiguities answered; those without an answer are asked about."""
        decided = findings.answered(self.of(name).keys)
        self.questions += [question_of(name, ambiguity) for ambiguity in decided.ambiguities]
        return Findings(decided.decided)


def question_of(name: str, ambiguity: Ambiguity) -> OpenQuestion:
    """Return an ambiguity as a question: each of its readings is a choice."""
    choices = tuple(Choice(nested(reading.keys), reading.meaning) for reading in ambiguity.readings)
    ways = f" can be read in {len(choices)} ways" if len(choices) > 1 else ""
    return OpenQuestion(name, f"{ambiguity.evidence}{ways}", choices, key=ambiguity.key)


def read_answers(path: Path) -> Answers:
    """Return the answers of a YAML file. Raises BadAnswer."""
    if not path.is_file():
        raise BadAnswer(f"{path}: there is no such file of answers")
    try:
        document = read_document(path.parent, path.name)
    except InstanceFaults as faults:
        raise BadAnswer(str(faults)) from faults
    if document.faults:
        raise BadAnswer("\n".join(str(fault) for fault in document.faults))
    tree = document.tree or {}
    if not isinstance(tree, Mapping):
        raise BadAnswer(f"{path.name} holds no answers; write keys such as currency: EUR")
    check_keys(path.name, tree, (*OF_BOOKS, *OF_FORMATS))
    files = tree.get("files") or {}
    if not isinstance(files, Mapping):
        raise BadAnswer(f"{path.name}: files takes the name of a file and what is said of it")
    return Answers(
        books={key: tree[key] for key in OF_BOOKS if key in tree and key != "files"},
        every=flattened({key: tree[key] for key in OF_FORMATS if key in tree}),
        files={str(name): file_answers(path.name, str(name), said) for name, said in files.items()},
    )


def file_answers(where: str, name: str, said: object) -> FileAnswers:
    """Return what a file of answers says of one file, at once or in a list. Raises BadAnswer."""
    if isinstance(said, list):
        parts = [file_answers(where, name, part) for part in said]
        return reduce(FileAnswers.and_, parts, FileAnswers())
    if not isinstance(said, Mapping):
        raise BadAnswer(f"{where}: {name} takes keys such as dates: {{format: '%d/%m/%Y'}}")
    check_keys(f"{where}: {name}", said, OF_FILES)
    kind = said.get("is")
    if kind is not None and kind not in KINDS:
        raise BadAnswer(f"{where}: {name} is '{kind}'; it takes {', '.join(KINDS)}")
    columns = said.get("columns") or {}
    roles = {role.value: role for role in ColumnRole}
    for column, role in columns.items():
        if role not in roles:
            raise BadAnswer(f"{where}: column {column} of {name} is '{role}'; it takes {', '.join(roles)}")
    keys = flattened({key: said[key] for key in OF_FORMATS if key in said})
    for key, values in VALUES.items():
        if (value := said.get(key)) is not None and value not in values:
            raise BadAnswer(f"{where}: {key} of {name} is '{value}'; it takes {', '.join(values)}")
    chosen = {column: roles[role] for column, role in columns.items()}
    return FileAnswers(keys, chosen, kind, said.get("scenario"), *map(said.get, VALUES))


def check_keys(where: str, tree: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise BadAnswer if a mapping has a key that is not known."""
    for key in tree:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise BadAnswer(f"{where} says '{key}', which is no key; {guess}known: {', '.join(known)}")
