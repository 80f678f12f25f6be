"""Builds profiles from profiles.yaml. A fault denies the access that it concerns."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from engine.instance.documents import Document, known, parse_document
from engine.instance.schema.registry import AllowPart, AssignPart, GrantPart, ProfilePart, ProfilesFile
from engine.instance.validation import fit
from engine.model.catalogue import Catalogue, Dimension, Domain
from engine.model.freezes import NAME
from engine.model.profiles import Assignment, Grant, NameSet, Profile, Profiles
from engine.model.scenarios import FROZEN, Scenario
from engine.model.scope import ALL, Cut

FILE = "profiles.yaml"
ASSIGN = "assign"  # the one key that does not name a profile
LARGEST = 16 << 20  # bytes


def read_profiles(folder: Path) -> Document:
    """Read profiles.yaml. An instance without the file gives an empty document."""
    return profiles_document(read_content(folder))


def read_content(folder: Path) -> bytes | str | None:
    """Return the bytes of profiles.yaml, a message if it cannot be read, or None if it does not exist."""
    try:
        with (folder / FILE).open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as fault:
        return f"cannot be read: {fault.strerror}"
    return content if len(content) <= LARGEST else f"is larger than {LARGEST >> 20} MB: keep so many in the database"


def profiles_document(content: bytes | str | None) -> Document:
    """Return the document for a result of `read_content`."""
    if isinstance(content, bytes):
        document = parse_document(FILE, content)
        document.tree = {} if document.tree is None and not document.faults else document.tree
        return document
    document = Document(FILE, tree={})
    if content is not None:
        document.fault([], content)
    return document


def profiles_of(document: Document, catalogue: Catalogue) -> Profiles:
    """Return the profiles of a document, checked against the names of the catalogue."""
    own = replace(document, faults=[*document.faults])
    return build_profiles(own, fitted(own), catalogue.scenarios, catalogue.domains, catalogue.dimensions)


def fitted(document: Document) -> ProfilesFile:
    """Return the valid parts of a document as a ProfilesFile. Records faults for the others."""
    file = fit(document, ProfilesFile)
    if file is None:
        tree = document.tree if isinstance(document.tree, dict) else {}
        faulty = {fault.at[:depth] for fault in document.faults for depth in (1, 2) if fault.at}
        sound = {key: part for key, part in tree.items() if (key,) not in faulty}
        assigned = tree.get(ASSIGN)
        if isinstance(assigned, list):
            sound[ASSIGN] = [part for place, part in enumerate(assigned) if (ASSIGN, place) not in faulty]
        file = ProfilesFile.model_validate(sound)
    return file


def build_profiles(
    document: Document,
    file: ProfilesFile,
    scenarios: Mapping[str, Scenario],
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> Profiles:
    """Return the valid profiles and their assignments. Records all remaining faults first."""
    parts: Mapping[str, ProfilePart] = file.model_extra or {}
    shut = any(not fault.at or fault.at[0] == ASSIGN for fault in document.faults)
    keys = {"*", *scenarios, *(f"kind:{scenario.kind}" for scenario in scenarios.values())}
    for name, part in parts.items():
        for key, grant in part.scenarios.items():
            at = [name, "scenarios", key]
            if key not in keys and not names_freeze(key, scenarios):
                document.fault(at, f"there is no scenario '{key}'", known(key, keys))
            check_grant(document, at, grant, domains, dimensions)
    tree = document.tree if isinstance(document.tree, dict) else {}
    for place, assigned in enumerate(file.assign):
        if assigned.profile == ASSIGN or assigned.profile not in tree:
            document.fault(
                [ASSIGN, place, "profile"], f"there is no profile '{assigned.profile}'", known(assigned.profile, parts)
            )
    faulty = {fault.at[0] for fault in document.faults if fault.at}
    return Profiles.of(
        [build_profile(document, name, part) for name, part in parts.items() if name not in faulty],
        [build_assignment(part) for part in file.assign],
        shut=shut,
        faults=[str(fault) for fault in sorted(document.faults, key=lambda fault: fault.line)],
    )


def names_freeze(key: str, scenarios: Collection[str]) -> bool:
    """Tell whether a key can name a freeze of a scenario, or all of them; commands make and drop freezes."""
    base, _, name = key.partition(FROZEN)
    return base in scenarios and (name == "*" or NAME.fullmatch(name) is not None)


def check_grant(
    document: Document,
    at: list[str],
    grant: GrantPart,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> None:
    """Record a fault for each domain and dimension of a grant that does not exist."""
    cuttable = [key for key, dimension in dimensions.items() if not dimension.grain and not dimension.axis_only]
    for key, names in grant.dimensions.items():
        if key not in cuttable:
            document.fault([*at, "dimensions", key], f"there is no dimension '{key}'", known(key, cuttable))
        if ALL in (names.allow or names.deny or ()):
            document.fault([*at, "dimensions", key], f"'{ALL}' is no member", "leave the dimension or the domain out")
    for key in domains_named(grant):
        if key not in domains:
            document.fault([*at, "domains"], f"there is no domain '{key}'", known(key, domains))


def domains_named(grant: GrantPart) -> Iterator[str]:
    """Yield every domain that a grant names."""
    if grant.domains:
        yield from grant.domains.allow or grant.domains.deny or ()
    yield from grant.open_domains


def build_profile(document: Document, name: str, part: ProfilePart) -> Profile:
    """Return one profile."""
    grants = tuple(
        (key, build_grant(document, [name, "scenarios", key], grant)) for key, grant in part.scenarios.items()
    )
    return Profile(key=name, grants=grants, operations=part.operations, all_members=part.members == "all")


def build_grant(document: Document, at: list[str], part: GrantPart) -> Grant:
    """Return one grant."""
    return Grant(
        domains=names_of(part.domains) if part.domains else NameSet((), deny=True),
        dimensions=tuple(
            Cut(key, restriction.names, deny=restriction.deny, location=document.place([*at, "dimensions", key]))
            for key, restriction in ((key, names_of(allow)) for key, allow in part.dimensions.items())
        ),
        open_domains=tuple(part.open_domains),
    )


def names_of(part: AllowPart) -> NameSet:
    """Return the name set of an allow-list, or of all names but some."""
    return NameSet(tuple(part.allow or part.deny or ()), deny=part.allow is None)


def build_assignment(part: AssignPart) -> Assignment:
    """Return one assignment."""
    return Assignment(profile=part.profile, subject=part.subject, claims=tuple((part.claim or {}).items()))
