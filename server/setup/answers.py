"""Answers: what somebody says of the books where files do not, from a file of answers or at a terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from engine.instance.documents import InstanceFaults, read_document
from server.files.findings import Ambiguity, Findings, flattened, written_keys
from server.setup.column_profiles import ColumnRole

OF_BOOKS: Final = ("name", "currency", "fiscal_year", "files")
OF_FORMATS: Final = ("csv", "numbers", "dates", "unpivot", "header_row", "period")
OF_FILES: Final = (*OF_FORMATS, "columns", "is", "scenario", "totals", "formulas")
FACTOR: Final = "numbers.factor"
TOTALS: Final = ("leave_out", "keep")
ZERO: Final = "zero"
KINDS: Final = ("facts", "members", "unused")
MOST_QUESTIONS: Final = 5
Ask = Callable[[str, Sequence[str]], str | None]  # question and choices to an answer; None if nobody answers


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


@dataclass
class Answers:
    """What somebody says of the books and of each file; the questions that were asked count."""

    books: Mapping[str, Any] = field(default_factory=dict)
    every: Mapping[str, Any] = field(default_factory=dict)  # format keys of every file
    files: Mapping[str, FileAnswers] = field(default_factory=dict)
    ask: Ask | None = None
    asked: int = 0
    open: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # open ones that an answer decides, about rows and amounts

    @property
    def fiscal_start(self) -> int:
        """The first month of the fiscal year; 1 if nobody says another."""
        said = self.books.get("fiscal_year")
        start = str(said.get("starts", 1)) if isinstance(said, Mapping) else "1"
        return int(start) if start.isdecimal() else 1

    def of(self, name: str) -> FileAnswers:
        """Return what is said of a file, by its name or, of a sheet, by that of its file as well."""
        base = name.partition(" [")[0]
        said = self.files.get(name) or self.files.get(base) or FileAnswers()
        return replace(said, keys={**self.every, **said.keys})

    def encoding_of(self, name: str) -> str | None:
        """Return the encoding that is said of a file; None if none is."""
        said = self.of(name).keys.get("csv.encoding")
        return None if said is None else str(said)

    def check_names(self, tables: Mapping[str, Sequence[str]]) -> None:
        """Raise BadAnswer if something is said of a file or a column that there is not; tables have their columns."""
        for name, said in self.files.items():
            columns = [columns for table, columns in tables.items() if name in (table, table.partition(" [")[0])]
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

    def question(self, text: str, choices: Sequence[str]) -> str | None:
        """Return somebody's answer to a question; None if nobody is there, or enough was asked."""
        if self.ask is None or self.asked >= MOST_QUESTIONS:
            return None
        self.asked += 1
        return self.ask(text, choices)

    def settled(self, name: str, findings: Findings) -> Findings:
        """Return the findings of a file with every ambiguity answered; those without an answer are noted as open."""
        decided = findings.answered(self.of(name).keys)
        for ambiguity in decided.ambiguities:
            keys = self._decide(name, ambiguity)
            if keys is None:
                (self.questions if ambiguity.key == FACTOR else self.open).append(explain(name, ambiguity))
            else:
                decided = decided.answered(keys)
        return Findings(decided.decided)

    def _decide(self, name: str, ambiguity: Ambiguity) -> Mapping[str, Any] | None:
        choices = [f"{reading.meaning} ({written_keys(reading.keys)})" for reading in ambiguity.readings]
        answer = self.question(f"{name}: {ambiguity.evidence}", choices)
        if answer is None:
            return None
        if answer in choices:
            return ambiguity.readings[choices.index(answer)].keys
        return {ambiguity.key: answer}


def explain(name: str, ambiguity: Ambiguity) -> str:
    """Return an ambiguity with what to write into a file of answers."""
    key = ambiguity.key.partition(".")[0]
    return f"{name}: {ambiguity}\n  Say {key} with --answers FILE, for every file or under files: {{{name}: …}}"


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
    """Return what a file of answers says of one file. Raises BadAnswer."""
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
    totals = said.get("totals")
    if totals is not None and totals not in TOTALS:
        raise BadAnswer(f"{where}: totals of {name} is '{totals}'; it takes {', '.join(TOTALS)}")
    formulas = said.get("formulas")
    if formulas not in (None, ZERO):
        raise BadAnswer(f"{where}: formulas of {name} is '{formulas}'; it takes {ZERO}")
    return FileAnswers(
        keys, {column: roles[role] for column, role in columns.items()}, kind, said.get("scenario"), totals, formulas
    )


def check_keys(where: str, tree: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise BadAnswer if a mapping has a key that is not known."""
    for key in tree:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise BadAnswer(f"{where} says '{key}', which is no key; {guess}known: {', '.join(known)}")
