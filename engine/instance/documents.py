"""YAML documents and CSV tables that keep their line numbers, and the faults found in them."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import replace

from engine.model.errors import closest, first_of, quoted

# Scalars stay text: 0010, NO and 2025-09-30 are ids and codes, not 8, false and a date. Each field parses its own text.
# A key without a value has the empty text, which is a fault if the field needs a value.


DEEPEST = 100  # levels of nesting; the parser has no limit of its own
MOST_PARTS = 5_000_000  # repetitions by aliases included
FRAME = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)

Tree = dict[str, "Tree"] | list["Tree"] | str | None
Location = Sequence[str | int]


class Fault(Struct, frozen=True):
    """One fault of an instance: its location, what was found, and what would be valid."""

    file: str
    line: int  # 0 if the document has no lines
    found: str
    valid: str = ""
    at: tuple[str | int, ...] = ()  # path of the part in the tree

    def __str__(self) -> str:
        place = placed(self.file, self.line, self.at)
        return f"{place}: {self.found}" + (f" — {self.valid}" if self.valid else "")


def placed(file: str, line: int, at: Location) -> str:
    """Return a location for messages: file and line, or file and part if the document has no lines."""
    return f"{file}:{line}" if line else " ".join((file, ".".join(map(str, at)))).strip()


class InstanceFaults(Exception):
    """All distinct faults of an instance, without those that follow from another."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = sorted(first_faults(dict.fromkeys(faults)), key=lambda fault: (fault.file, fault.line))
        super().__init__("\n".join(map(str, self.faults)))


LAYERS = (r"dimensions\.yaml", r"domains/.*", r"scenarios\.yaml", r".*")  # files that name parts of the files before
WHOLE = (LAYERS[0], LAYERS[2])  # their keys are the names of parts
PARTS = ("metrics", "measures", "dimensions", "axes")  # of a domain, each by its name


def first_faults(faults: Iterable[Fault]) -> list[Fault]:
    """Return faults without those that follow from another: they quote the name of a part that has a fault itself.

    A part with a fault is not built, so parts of its own file and of those after it would seem to name what does not
    exist.
    """
    listed = list(faults)
    broken = {(layer_of(fault), name) for fault in listed if (name := part_of(fault)) is not None}
    followers = [
        fault
        for fault in listed
        if any(
            layer <= layer_of(fault) and name != part_of(fault) and f"'{name}'" in fault.found for layer, name in broken
        )
    ]
    lines = {(fault.file, fault.line) for fault in followers}
    return [fault for fault in listed if (fault.file, fault.line) not in lines]


def layer_of(fault: Fault) -> int:
    """Return the position in LAYERS of the file of a fault."""
    return next(place for place, pattern in enumerate(LAYERS) if re.fullmatch(pattern, fault.file))


def part_of(fault: Fault) -> str | None:
    """Return the name of the dimension, scenario or part of a domain that a fault is in; None if it is in no such."""
    layer = layer_of(fault)
    if layer == len(LAYERS) - 1 or not fault.at or fault.at[0] == "comparisons":
        return None
    names = fault.at if LAYERS[layer] in WHOLE else fault.at[1:] if fault.at[0] in PARTS else ()
    return str(names[0]) if names else None


@dataclass(slots=True, eq=False)
class Document:
    """One file as a tree of text, with the line of each part."""

    file: str
    tree: Tree = None
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def line(self, location: Location) -> int:
        """Return the line of a part, or of its nearest ancestor in the file."""
        path = tuple(location)
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    def place(self, location: Location) -> str:
        """Return the location of a part in the form that faults use."""
        return placed(self.file, self.line(location), location)

    def fault(self, location: Location, found: str, valid: str = "") -> None:
        """Record a fault of a part."""
        self.faults.append(Fault(self.file, self.line(location), found, valid, tuple(location)))


def read_document(folder: Path, file: str) -> Document:
    """Read one file of an instance. Invalid YAML and duplicate keys become faults of the document."""
    return parse_document(file, (folder / file).read_bytes())


def parse_document(file: str, content: bytes) -> Document:
    """Parse the content of a file. Invalid YAML and duplicate keys become faults of the document."""
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
    """The YAML is valid, but a document does not support it."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        super().__init__(problem)
        self.line = line_of(event)


class YamlAnchor(Struct, frozen=True):
    """A part that aliases may repeat, with its path and its number of parts."""

    tree: Tree
    at: tuple[str | int, ...]
    parts: int


@dataclass(slots=True)
class TreeBuilder:
    """Builds the tree and the line numbers of a document from the parser's events."""

    document: Document
    events: Iterator[yaml.Event]
    anchored: dict[str, YamlAnchor] = field(default_factory=dict)
    parts: int = 0

    def whole(self) -> Tree:
        """Return the tree of the only YAML document in the file, None if the file is empty."""
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
        """Return the part that an alias repeats, with its faults."""
        self.parts += anchored.parts
        depth = len(anchored.at)
        for fault in [fault for fault in self.document.faults if fault.at[:depth] == anchored.at]:
            self.document.faults.append(replace(fault, at=(*at, *fault.at[depth:])))
        return anchored.tree

    def branch(self, at: tuple[str | int, ...]) -> dict[str, Tree]:
        """Return the mapping whose start event was just read."""
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
        """Yield the events that begin parts, up to the end event of their parent."""
        while not isinstance(event := next(self.events), end):
            yield event


def line_of(event: yaml.Event) -> int:
    """Return the line that an event begins on."""
    return event.start_mark.line + 1 if event.start_mark else 1


def read_table(folder: Path, file: str) -> Document:
    """Read a CSV file of an instance as a list of rows, each a mapping of column to text. Skips empty rows.

    Accepts semicolons and tabs as separators, which some spreadsheets write, and ignores a byte order mark.
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
    except OSError as fault:
        document.fault([], f"cannot be read: {fault.strerror}", "instance.yaml names it as its calendar")
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
    """Return the cells of a row without trailing empty cells."""
    written = [cell.strip() for cell in cells]
    while written and not written[-1]:
        written.pop()
    return written


# Names in messages and headings.


def known(name: str, names: Iterable[str]) -> str:
    """Suggest names spelled like an unknown name, and list the valid names."""
    listed = sorted(names)
    close = closest(name, listed)
    guess = f"did you mean {quoted(close)}? " if close else ""
    return f"{guess}known: {first_of(listed) or 'none'}"


def words(key: str) -> str:
    """Return the default label of a key: gross_margin becomes Gross margin."""
    return key.replace("_", " ").capitalize()
