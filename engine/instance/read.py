"""Reads an instance folder: every file, every fault, then the values.

A fault in profiles does not reject the instance. It denies the access that it concerns and is reported with the others.
integrations.yaml belongs to the service, which hands its reader in.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from re import fullmatch
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from engine.instance.documents import Document, Fault, InstanceFaults, read_document, read_table
from engine.instance.profiles import FILE, build_profiles, fitted, read_profiles
from engine.instance.reading.calendar import build_calendar
from engine.instance.reading.domains import build_dimensions, build_domains
from engine.instance.reading.metrics import MetricBuilder
from engine.instance.reading.scenarios import build_comparisons, build_default, build_scenarios
from engine.instance.reading.statements import StatementBuilder
from engine.instance.reading.vocabulary import build_vocabulary
from engine.instance.schema.books import CALENDAR, DimensionsFile, DomainFile, InstanceFile
from engine.instance.schema.registry import ProfilesFile, ScenariosFile
from engine.instance.schema.statements import StatementFile
from engine.instance.validation import fit_in_part
from engine.model.catalogue import Catalogue
from engine.model.profiles import Profiles

Model = TypeVar("Model", bound=BaseModel)
Value = TypeVar("Value")

STATE = ".tieout"  # folder in an instance for generated files
STORE = "store"  # folder in it for the facts

FILES: dict[str, type[BaseModel]] = {
    "instance.yaml": InstanceFile,
    "dimensions.yaml": DimensionsFile,
    "domains/*.yaml": DomainFile,
    "statements/*.yaml": StatementFile,
    "scenarios.yaml": ScenariosFile,
    FILE: ProfilesFile,
}
INTEGRATIONS = "integrations.yaml"
PATTERNS = (*FILES, INTEGRATIONS)
PROSE, CHARTS = "orientation.md", "charts.json"
READABLE = "let the user that runs Tieout read it: chmod -R go+rX FOLDER"
TABLES = ("calendar", "trading_calendar")  # keys of instance.yaml that name a file beside it


class Instance(Struct, frozen=True, kw_only=True):
    """The values of an instance folder."""

    catalogue: Catalogue
    profiles: Profiles


@dataclass
class InstanceDocuments:
    """The documents read so far, in file order, without the one of the profiles."""

    folder: Path
    documents: list[Document]
    profiles: Document = field(default_factory=lambda: Document(FILE))
    fitted: dict[str, tuple[Document, BaseModel | None]] = field(default_factory=dict)

    def one(self, file: str, model: type[Model]) -> tuple[Document, Model | None]:
        """Read one file once, as far as it fits its model; the model is None if nothing of it does."""
        if file not in self.fitted:
            document = self._read(file)
            self.documents.append(document)
            self.fitted[file] = (document, fit_in_part(document, model))
        document, fits = self.fitted[file]
        return document, fits if isinstance(fits, model) else None

    def _read(self, file: str) -> Document:
        """Return one file as a document. integrations.yaml may be missing; any other file that is has a fault."""
        if (self.folder / file).is_file():
            document = read_document(self.folder, file)
            document.tree = {} if document.tree is None and not document.faults else document.tree
            return document
        document = Document(file, tree={} if file == INTEGRATIONS else None)
        if file != INTEGRATIONS:
            document.fault([], "the file is missing")
        return document

    def several(self, pattern: str, model: type[Model]) -> dict[Document, Model]:
        """Read the files that match a pattern, in name order. Leaves out files of which nothing fits the model."""
        names = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(pattern))
        read = [self.one(name, model) for name in names]
        return {document: file for document, file in read if file is not None}

    def unread_statements(self, read: Collection[Document]) -> list[str]:
        """Return the keys of the statements of whose files nothing fits; those of unreadable files are their names."""
        left = (one for one in self.documents if one not in read and one.file.startswith("statements/"))
        return [str(one.tree.get("statement")) if isinstance(one.tree, dict) else Path(one.file).stem for one in left]

    def table(self, file: str) -> Document:
        """Read a table that instance.yaml names."""
        document = read_table(self.folder, file)
        self.documents.append(document)
        return document

    def strangers(self) -> list[Fault]:
        """Return a fault for every YAML file that does not belong to an instance."""
        known = {FILE, INTEGRATIONS, *(document.file for document in self.documents)}
        found = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.y*ml") if path.is_file()}
        valid = f"an instance has {', '.join(PATTERNS)}"
        return [
            Fault(file, 1, "is no file of an instance", valid)
            for file in sorted(found - known)
            if not any(part.startswith(".") for part in Path(file).parts)
        ]

    def stop_at_faults(self) -> None:
        """Raise InstanceFaults if any document has a fault so far."""
        faults = [fault for document in self.documents for fault in document.faults] + self.strangers()
        if faults:
            raise InstanceFaults(faults + self.profiles.faults)


FurtherReader = Callable[[InstanceDocuments, Catalogue | None], Value]


def read_instance(folder: Path) -> Instance:
    """Return the values of an instance folder, without those of integrations.yaml, which is not checked.

    Raises InstanceFaults with every fault found in the other files. Faults in profiles alone do not raise: Instance
    keeps them in its Profiles.
    """
    return read_with(folder, lambda _documents, _catalogue: None)[0]


def read_with(folder: Path, reader: FurtherReader[Value]) -> tuple[Instance, Value]:
    """Return the values of an instance folder and what a further reader makes of its documents.

    The reader records its faults in documents, which are told together with all others. Its catalogue lacks the parts
    with faults; it is None if so much of a file is invalid that its uses cannot be checked. Raises InstanceFaults.
    """
    if not folder.is_dir():
        raise InstanceFaults([Fault(str(folder), 0, "there is no such folder", "name the folder of an instance")])
    if closed := list(unreadable_parts(folder)):
        raise InstanceFaults(closed)
    if not any(path.is_file() for pattern in PATTERNS for path in folder.glob(pattern)):
        valid = "name the folder of an instance, make one with tieout init, or serve made-up books with --demo"
        raise InstanceFaults([Fault(str(folder), 0, "is no instance, for it has no instance.yaml", valid)])
    reading = InstanceDocuments(folder, [], read_profiles(folder))
    instance = build_instance(reading)
    value = reader(reading, None if instance is None else instance.catalogue)
    reading.stop_at_faults()
    if instance is None:
        raise AssertionError("an instance that cannot be checked has a fault")
    return instance, value


def unreadable_parts(folder: Path) -> Iterator[Fault]:
    """Yield a fault for each folder and file of an instance that this process may not read."""
    folders = [folder, *(folder / name for name in sorted({Path(pattern).parts[0] for pattern in PATTERNS}))]
    for part in (path for path in folders if path.is_dir() and not may(path, os.R_OK | os.X_OK)):
        yield Fault(str(part) if part == folder else part.name, 0, "is a folder that may not be read", READABLE)
        if part == folder:
            return
    patterns = (pattern for pattern in (*PATTERNS, PROSE) if pattern != FILE)  # profiles have a fault of their own
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        if may(path.parent, os.X_OK) and not may(path, os.R_OK):
            yield Fault(path.relative_to(folder).as_posix(), 0, "may not be read", READABLE)


def may(path: Path, access: int) -> bool:
    """Tell whether this process has some access to a file or folder."""
    return os.access(path, access, effective_ids=os.access in os.supports_effective_ids)


def build_instance(reading: InstanceDocuments) -> Instance | None:
    """Return the values of an instance, without the parts that have a fault; None if so much has that uses are unknown.

    A part that does not fit its model is not checked further; all others are.
    """
    folder = reading.folder
    instance_doc, instance = reading.one("instance.yaml", InstanceFile)
    dimensions_doc, dimensions_file = reading.one("dimensions.yaml", DimensionsFile)
    scenarios_doc, scenarios_file = reading.one("scenarios.yaml", ScenariosFile)
    profiles_file = fitted(reading.profiles)
    domain_files = reading.several("domains/*.yaml", DomainFile)
    statement_files = reading.several("statements/*.yaml", StatementFile)
    if not (instance and dimensions_file and scenarios_file):
        return None

    table = reading.table(instance.calendar) if instance.calendar else None
    trading = reading.table(instance.trading_calendar) if instance.trading_calendar else None
    calendar = build_calendar(instance_doc, instance, table, trading)
    dimensions = build_dimensions(dimensions_doc, dimensions_file, calendar)
    domains = build_domains(domain_files, dimensions, calendar)
    if len(domain_files) < len(list(folder.glob("domains/*.yaml"))):
        return None  # metrics of an invalid file are unknown, so their uses cannot be checked
    scenarios = None  # where the periods are unknown, so that their uses cannot be checked
    if not any(known.faults for known in (table, trading) if known):
        scenarios = build_scenarios(scenarios_doc, scenarios_file, domains, dimensions, calendar)
    builder = MetricBuilder(domain_files, domains, dimensions, scenarios)
    metrics = builder.build()
    unread = reading.unread_statements(statement_files.keys())
    statements = StatementBuilder(statement_files, domains, dimensions, metrics, scenarios, unread).build()
    if scenarios is None:
        return None
    comparisons = build_comparisons(scenarios_doc, scenarios_file, scenarios)
    default = build_default(instance_doc, instance, [*statements, *unread], scenarios, calendar)
    profiles = build_profiles(reading.profiles, profiles_file, scenarios, domains, dimensions)
    restricted = frozenset(dimensions[key].leaf for key in profiles.restricted)
    prose = folder / PROSE
    catalogue = Catalogue(
        name=instance.name,
        currency=instance.currency,
        calendar=calendar,
        dimensions=dimensions,
        domains={key: replace(domain, restricted=restricted) for key, domain in domains.items()},
        metrics=metrics,
        statements=statements,
        scenarios=scenarios,
        comparisons=comparisons,
        default=default,
        orientation=prose.read_text(encoding="utf-8") if prose.is_file() else "",
        version=version_of(folder, [INTEGRATIONS, *(document.file for document in reading.documents)]),
        shared_keys=builder.shared_keys,
        vocabulary=build_vocabulary(instance_doc, instance, dimensions, metrics, {*statements, *unread}),
    )
    return Instance(catalogue=catalogue, profiles=profiles)


def instance_files(folder: Path) -> list[str]:
    """Return the files of an instance, faulty ones included, relative to its folder; data of feeds are none of them."""
    patterns = (*PATTERNS, PROSE, CHARTS)
    files = [path.relative_to(folder).as_posix() for pattern in patterns for path in sorted(folder.glob(pattern))]
    tree = read_document(folder, "instance.yaml").tree if (folder / "instance.yaml").is_file() else None
    named = [tree.get(key) for key in TABLES] if isinstance(tree, dict) else []
    tables = [name for name in named if isinstance(name, str) and fullmatch(CALENDAR, name)]
    return [*files, *(name for name in dict.fromkeys(tables) if (folder / name).is_file())]


def version_of(folder: Path, files: Iterable[str]) -> str:
    """Return a digest of the files of a catalogue."""
    digest = sha256()
    for file in sorted(file for file in files if (folder / file).is_file()):
        digest.update(file.encode() + b"\0" + (folder / file).read_bytes() + b"\0")
    return digest.hexdigest()[:12]
