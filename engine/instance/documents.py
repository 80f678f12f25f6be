"""YAML documents, and tables beside them, that remember their lines.

YAML is read by the 1.2 core schema as far as an instance needs it: a scalar stays the text that was written (0010, NO
and 2025-09-30 are ids and codes, not 8, false and a date); what a field makes of its text is the field's own affair.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import yaml

NULLS = {"", "~", "null", "Null", "NULL"}

Tree = dict[str, "Tree"] | list["Tree"] | str | None
Location = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in an instance: where it stands, what was found, and what would be valid."""

    file: str
    line: int
    found: str
    valid: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found}" + (f" — {self.valid}" if self.valid else "")


class InstanceFaults(Exception):
    """Everything wrong in an instance, all at once."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = sorted(faults, key=lambda fault: (fault.file, fault.line))
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

    def fault(self, location: Location, found: str, valid: str = "") -> None:
        """Note something wrong with a part."""
        self.faults.append(Fault(self.file, self.line(location), found, valid))


def read_document(folder: Path, file: str) -> Document:
    """Read one file of an instance; what is no YAML, or says a key twice, becomes a fault of the document."""
    document = Document(file)
    try:
        text = (folder / file).read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as fault:
        document.faults.append(Fault(file, 1, f"is no UTF-8 text at byte {fault.start}"))
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else 1
        document.faults.append(Fault(file, line, f"is no YAML: {fault.problem or fault}"))
    except yaml.YAMLError as fault:
        document.faults.append(Fault(file, 1, f"is no YAML: {fault}"))
    else:
        document.tree = grow(document, node, ())
    return document


def grow(document: Document, node: yaml.Node | None, at: tuple[str | int, ...]) -> Tree:
    """Return the tree of a node and note the line of each of its parts."""
    if node is None:
        return None
    document.lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        branch: dict[str, Tree] = {}
        for key, value in node.value:
            name = str(key.value)
            here = (*at, name)
            if name in branch:
                document.faults.append(
                    Fault(document.file, key.start_mark.line + 1, f"says '{name}' twice", "say each key once")
                )
                continue
            document.lines[here] = key.start_mark.line + 1
            branch[name] = grow(document, value, here)
        return branch
    if isinstance(node, yaml.SequenceNode):
        return [grow(document, item, (*at, index)) for index, item in enumerate(node.value)]
    is_null = isinstance(node, yaml.ScalarNode) and node.style is None and node.value in NULLS
    return None if is_null else str(node.value)


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
