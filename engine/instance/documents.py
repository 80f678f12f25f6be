"""YAML documents and tables that remember their lines, and how faults name what they contain."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import yaml

from engine.model.errors import closest, first_of, quoted

# YAML documents, and tables beside them, that remember their lines.
#
# YAML is read by the 1.2 core schema as far as an instance needs it: a scalar stays the text that was written (0010, NO
# and 2025-09-30 are ids and codes, not 8, false and a date); what a field makes of its text is the field's own affair.
# A key without a value has the empty text, which is a fault wherever something is wanted.


DEEPEST = 100  # levels of parts in parts; the parser itself knows no bound
MOST_PARTS = 5_000_000  # each as often as aliases repeat it
FRAME = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)

Tree = dict[str, "Tree"] | list["Tree"] | str | None
Location = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in an instance: where it stands, what was found, and what would be valid."""

    file: str
    line: int  # 0 where what was read has no lines
    found: str
    valid: str = ""
    at: tuple[str | int, ...] = ()  # the part of the tree

    def __str__(self) -> str:
        place = placed(self.file, self.line, self.at)
        return f"{place}: {self.found}" + (f" — {self.valid}" if self.valid else "")


def placed(file: str, line: int, at: Location) -> str:
    """Return where something stands: its line in the file, or the part where what was read has no lines."""
    return f"{file}:{line}" if line else " ".join((file, ".".join(map(str, at)))).strip()


class InstanceFaults(Exception):
    """Everything wrong in an instance, all at once and each once."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = sorted(dict.fromkeys(faults), key=lambda fault: (fault.file, fault.line))
        super().__init__("\n".join(map(str, self.faults)))


@dataclass(slots=True, eq=False)
class Document:
    """One file as a tree of text, with the line each part stands on."""

    file: str
    tree: Tree = None
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def line(self, location: Location) -> int:
        """Return the line of a part, or of the nearest part around it that the file has."""
        path = tuple(location)
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    def place(self, location: Location) -> str:
        """Return where a part stands, as faults say it."""
        return placed(self.file, self.line(location), location)

    def fault(self, location: Location, found: str, valid: str = "") -> None:
        """Note something wrong with a part."""
        self.faults.append(Fault(self.file, self.line(location), found, valid, tuple(location)))


def read_document(folder: Path, file: str) -> Document:
    """Read one file of an instance; what is no YAML, or says a key twice, becomes a fault of the document."""
    return parse_document(file, (folder / file).read_bytes())


def parse_document(file: str, content: bytes) -> Document:
    """Return what a file holds as a document; what is no YAML, or says a key twice, becomes a fault of it."""
    document = Document(file)
    try:
        document.tree = TreeBuilder(document, yaml.parse(content.decode(), Loader=yaml.CSafeLoader)).whole()
    except UnicodeDecodeError as fault:
        document.faults.append(Fault(file, 1, f"is no UTF-8 text at byte {fault.start}"))
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else 1
        document.faults.append(Fault(file, line, f"is no YAML: {fault.problem or fault}"))
    except UnreadableYaml as fault:
        document.faults.append(Fault(file, fault.line, f"is no YAML that can be read: {fault}"))
    except yaml.YAMLError as fault:
        document.faults.append(Fault(file, 1, f"is no YAML: {fault}"))
    return document


class UnreadableYaml(ValueError):
    """What the parser takes and a document does not."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        super().__init__(problem)
        self.line = line_of(event)


@dataclass(frozen=True, slots=True)
class YamlAnchor:
    """A part that aliases may repeat, where it stands and how many parts it has."""

    tree: Tree
    at: tuple[str | int, ...]
    parts: int


@dataclass(slots=True)
class TreeBuilder:
    """A document whose tree grows out of the parser's events, each part with its line."""

    document: Document
    events: Iterator[yaml.Event]
    anchored: dict[str, YamlAnchor] = field(default_factory=dict)
    parts: int = 0

    def whole(self) -> Tree:
        """Return the tree of the only document; None where there is none."""
        tree: Tree = None
        for number, event in enumerate(event for event in self.events if not isinstance(event, FRAME)):
            if number:
                raise UnreadableYaml("has a second document", event)
            tree = self.part(event, ())
        return tree

    def part(self, event: yaml.Event, at: tuple[str | int, ...]) -> Tree:
        """Return the part that begins with an event."""
        before, anchor = self.parts, event.anchor if isinstance(event, yaml.NodeEvent) else None
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchored:
                raise UnreadableYaml(f"has no '&{event.anchor}' that is whole above its '*{event.anchor}'", event)
            tree = self.again(self.anchored[event.anchor], at)
        self.parts += 1
        if len(at) > DEEPEST or self.parts > MOST_PARTS:
            raise UnreadableYaml("has too many parts, or too many in each other", event)
        self.document.lines.setdefault(at, line_of(event))
        if isinstance(event, yaml.MappingStartEvent):
            tree = self.branch(at)
        elif isinstance(event, yaml.SequenceStartEvent):
            tree = [self.part(item, (*at, place)) for place, item in enumerate(self.until(yaml.SequenceEndEvent))]
        elif isinstance(event, yaml.ScalarEvent):
            tree = str(event.value)
        if anchor:
            self.anchored[anchor] = YamlAnchor(tree, at, self.parts - before)
        return tree

    def again(self, anchored: YamlAnchor, at: tuple[str | int, ...]) -> Tree:
        """Return a part that an alias repeats, with its faults."""
        self.parts += anchored.parts
        depth = len(anchored.at)
        for fault in [fault for fault in self.document.faults if fault.at[:depth] == anchored.at]:
            self.document.faults.append(replace(fault, at=(*at, *fault.at[depth:])))
        return anchored.tree

    def branch(self, at: tuple[str | int, ...]) -> dict[str, Tree]:
        """Return a mapping that has begun."""
        branch: dict[str, Tree] = {}
        for event in self.until(yaml.MappingEndEvent):
            line = line_of(event)
            name = str(self.part(event, (*at, "")))
            here = (*at, name)
            twice = name in branch
            if twice:
                fault = Fault(self.document.file, line, f"says '{name}' twice", "say each key once", here)
                self.document.faults.append(fault)
            else:
                self.document.lines[here] = line
            value = self.part(next(self.events), here)
            branch.setdefault(name, value)
        return branch

    def until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        """Yield the events that begin parts, up to the end of what they are parts of."""
        while not isinstance(event := next(self.events), end):
            yield event


def line_of(event: yaml.Event) -> int:
    """Return the line that an event begins on."""
    return event.start_mark.line + 1 if event.start_mark else 1


def read_table(folder: Path, file: str) -> Document:
    """Read a CSV file of an instance: a list of rows, each column to its text; rows of nothing are left out.

    Spreadsheets of other countries write semicolons or tabs; a byte order mark is no text.
    """
    document = Document(file, tree=[])
    try:
        lines = (folder / file).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        document.fault([], "the file is missing", "instance.yaml names it as its calendar")
        return document
    except UnicodeDecodeError as fault:
        document.fault([], f"is no UTF-8 text at byte {fault.start}", "save it as CSV UTF-8")
        return document
    separator = max(",;\t", key=(lines[0] if lines else "").count)
    rows = csv.reader(lines, delimiter=separator)
    header = trimmed(next(rows, []))
    for name in sorted({name for name in header if header.count(name) > 1}):
        document.fault([], f"has the column '{name}' twice")
    tree: list[Tree] = []
    for cells in map(trimmed, rows):
        if not cells:
            continue
        document.lines[len(tree),] = rows.line_num
        if len(cells) > len(header):
            document.fault([len(tree)], f"has {len(cells)} cells, and line 1 names {len(header)} columns")
        tree.append(dict(zip_longest(header, cells[: len(header)], fillvalue="")))
    document.tree = tree
    document.lines[()] = 1
    return document


def trimmed(cells: Sequence[str]) -> list[str]:
    """Return the cells of a row up to the last that says something."""
    written = [cell.strip() for cell in cells]
    while written and not written[-1]:
        written.pop()
    return written


# Names in faults and headings.


def known(name: str, names: Iterable[str]) -> str:
    """Return what a name may have meant, and the names there are."""
    listed = sorted(names)
    close = closest(name, listed)
    guess = f"did you mean {quoted(close)}? " if close else ""
    return f"{guess}known: {first_of(listed) or 'none'}"


def words(key: str) -> str:
    """Return a key in words: gross_margin as Gross margin."""
    return key.replace("_", " ").capitalize()
