"""Reads an instance folder: every file, every fault, then the values.

A fault in profiles does not reject the instance. It denies the access that it concerns and is reported with the others.
"""

from collections.abc import Collection, Mapping
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
from engine.instance.reading.feeds import build_bindings
from engine.instance.reading.metrics import MetricBuilder
from engine.instance.reading.placement import build_placement
from engine.instance.reading.scenarios import build_comparisons, build_default, build_scenarios
from engine.instance.reading.statements import StatementBuilder
from engine.instance.schema.books import CALENDAR, DimensionsFile, DomainFile, InstanceFile
from engine.instance.schema.registry import IntegrationsFile, ProfilesFile, ScenariosFile
from engine.instance.schema.statements import StatementFile
from engine.instance.validation import fit_in_part
from engine.model.catalogue import Catalogue
from engine.model.feeds import Binding
from engine.model.profiles import Profiles
from engine.model.warehouses import FactsPlacement

Model = TypeVar("Model", bound=BaseModel)

STATE = ".tieout"  # folder in an instance for generated files
STORE = "store"  # folder in it for the facts

FILES: dict[str, type[BaseModel]] = {
    "instance.yaml": InstanceFile,
    "dimensions.yaml": DimensionsFile,
    "domains/*.yaml": DomainFile,
    "statements/*.yaml": StatementFile,
    "scenarios.yaml": ScenariosFile,
    FILE: ProfilesFile,
    "integrations.yaml": IntegrationsFile,
}
OPTIONAL = ("integrations.yaml",)
PROSE, CHARTS = "orientation.md", "charts.json"
TABLES = ("calendar", "trading_calendar")  # keys of instance.yaml that name a file beside it


class Instance(Struct, frozen=True, kw_only=True):
    """The values of an instance folder."""

    catalogue: Catalogue
    profiles: Profiles
    bindings: Mapping[str, Binding]
    placement: FactsPlacement | None = None  # None: the rows of facts are files on this machine


@dataclass
class InstanceDocuments:
    """The documents read so far, in file order, without the one of the profiles."""

    folder: Path
    documents: list[Document]
    profiles: Document = field(default_factory=lambda: Document(FILE))

    def one(self, file: str, model: type[Model]) -> tuple[Document, Model | None]:
        """Read one file, as far as it fits its model; the model is None if nothing of it does."""
        if not (self.folder / file).is_file():
            document = Document(file, tree={} if file in OPTIONAL else None)
            if file not in OPTIONAL:
                document.fault([], "the file is missing")
        else:
            document = read_document(self.folder, file)
            document.tree = {} if document.tree is None and not document.faults else document.tree
        self.documents.append(document)
        return document, fit_in_part(document, model)

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
        known = {FILE, *(document.file for document in self.documents)}
        found = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.y*ml") if path.is_file()}
        valid = f"an instance has {', '.join(FILES)}"
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


def read_instance(folder: Path) -> Instance:
    """Return the values of an instance folder. Raises InstanceFaults with every fault found.

    A part that does not fit its model is not checked further; all others are. Faults in profiles alone do not raise:
    Instance keeps them in its Profiles.
    """
    if not folder.is_dir():
        raise InstanceFaults([Fault(str(folder), 0, "there is no such folder", "name the folder of an instance")])
    if not any(path.is_file() for pattern in FILES for path in folder.glob(pattern)):
        valid = "name the folder of an instance, make one with tieout init, or serve made-up books with --demo"
        raise InstanceFaults([Fault(str(folder), 0, "is no instance, for it has no instance.yaml", valid)])
    reading = InstanceDocuments(folder, [], read_profiles(folder))
    instance_doc, instance = reading.one("instance.yaml", InstanceFile)
    dimensions_doc, dimensions_file = reading.one("dimensions.yaml", DimensionsFile)
    scenarios_doc, scenarios_file = reading.one("scenarios.yaml", ScenariosFile)
    profiles_file = fitted(reading.profiles)
    integrations_doc, integrations = reading.one("integrations.yaml", IntegrationsFile)
    domain_files = reading.several("domains/*.yaml", DomainFile)
    statement_files = reading.several("statements/*.yaml", StatementFile)
    if not (instance and dimensions_file and scenarios_file and integrations):
        reading.stop_at_faults()
        raise AssertionError("a file that has no model has a fault")

    table = reading.table(instance.calendar) if instance.calendar else None
    trading = reading.table(instance.trading_calendar) if instance.trading_calendar else None
    calendar = build_calendar(instance_doc, instance, table, trading)
    dimensions = build_dimensions(dimensions_doc, dimensions_file, calendar)
    domains = build_domains(domain_files, dimensions, calendar)
    if len(domain_files) < len(list(folder.glob("domains/*.yaml"))):
        reading.stop_at_faults()  # metrics of an invalid file are unknown, so their uses cannot be checked
    builder = MetricBuilder(domain_files, domains, dimensions)
    metrics = builder.build()
    unread = reading.unread_statements(statement_files.keys())
    statements = StatementBuilder(statement_files, domains, dimensions, metrics, unread).build()
    if any(known.faults for known in (table, trading) if known):
        reading.stop_at_faults()  # the periods are unknown, so their uses cannot be checked
    scenarios = build_scenarios(scenarios_doc, scenarios_file, domains, dimensions, calendar)
    comparisons = build_comparisons(scenarios_doc, scenarios_file, scenarios)
    default = build_default(instance_doc, instance, [*statements, *unread], scenarios, calendar)
    placement = build_placement(instance_doc, instance)
    profiles = build_profiles(reading.profiles, profiles_file, scenarios, domains, dimensions)
    restricted = frozenset(dimensions[key].leaf for key in profiles.restricted)
    domains = {key: replace(domain, restricted=restricted) for key, domain in domains.items()}
    bindings = build_bindings(integrations_doc, integrations, domains, dimensions, scenarios)
    reading.stop_at_faults()

    prose = folder / PROSE
    orientation = prose.read_text(encoding="utf-8") if prose.is_file() else ""
    return Instance(
        catalogue=Catalogue(
            name=instance.name,
            currency=instance.currency,
            calendar=calendar,
            dimensions=dimensions,
            domains=domains,
            metrics=metrics,
            statements=statements,
            scenarios=scenarios,
            comparisons=comparisons,
            default=default,
            orientation=orientation,
            version=version_of(folder, reading.documents),
            shared_keys=builder.shared_keys,
        ),
        profiles=profiles,
        bindings=bindings,
        placement=placement,
    )


def instance_files(folder: Path) -> list[str]:
    """Return the files of an instance, faulty ones included, relative to its folder; data of feeds are none of them."""
    patterns = (*FILES, PROSE, CHARTS)
    files = [path.relative_to(folder).as_posix() for pattern in patterns for path in sorted(folder.glob(pattern))]
    tree = read_document(folder, "instance.yaml").tree if (folder / "instance.yaml").is_file() else None
    named = [tree.get(key) for key in TABLES] if isinstance(tree, dict) else []
    tables = [name for name in named if isinstance(name, str) and fullmatch(CALENDAR, name)]
    return [*files, *(name for name in dict.fromkeys(tables) if (folder / name).is_file())]


def version_of(folder: Path, documents: list[Document]) -> str:
    """Return a digest of the files of a catalogue."""
    digest = sha256()
    for file in sorted(document.file for document in documents if (folder / document.file).is_file()):
        digest.update(file.encode() + b"\0" + (folder / file).read_bytes() + b"\0")
    return digest.hexdigest()[:12]
