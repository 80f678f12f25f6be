"""The default report and profiles, from instance.yaml and profiles.yaml."""

from collections.abc import Mapping

from engine.calendar.calendar import Calendar
from engine.catalogue import Dimension, Domain, ReportDefault, Statement
from engine.cuts import Cut
from engine.errors import BadPeriod
from engine.instance.build.names import known
from engine.instance.build.scenarios import check_reference
from engine.instance.documents import Document
from engine.instance.files.books import InstanceFile
from engine.instance.files.registry import AllowPart, GrantPart, ProfilePart, ProfilesFile
from engine.profiles import Assignment, Grant, Names, Profile
from engine.scenarios import Scenario


def build_default(
    document: Document,
    file: InstanceFile,
    statements: Mapping[str, Statement],
    scenarios: Mapping[str, Scenario],
    calendar: Calendar,
) -> ReportDefault:
    """Return what a call shows that leaves it open."""
    part = file.default
    if part.statement and part.statement not in statements:
        document.fault(
            ["default", "statement"],
            f"there is no statement '{part.statement}'",
            known(part.statement, statements),
        )
    for place, column in enumerate(part.scenarios):
        check_reference(document, ["default", "scenarios", place], column.scenario, scenarios)
    start, end = part.period_start or part.period_end, part.period_end or part.period_start
    if start and end:
        try:
            calendar.range(start, end)
        except BadPeriod as refusal:
            document.fault(["default", refusal.field or "period_start"], refusal.error)
    return ReportDefault(
        statement=part.statement,
        scenarios=tuple((column.scenario, column.alias) for column in part.scenarios),
        period_start=start,
        period_end=end,
    )


def build_profiles(
    document: Document,
    file: ProfilesFile,
    scenarios: Mapping[str, Scenario],
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> dict[str, Profile]:
    """Return the profiles by name; names that nothing has are noted, and close where they stand."""
    parts: Mapping[str, ProfilePart] = file.model_extra or {}
    keys = {"*", *scenarios, *(f"kind:{scenario.kind}" for scenario in scenarios.values())}
    profiles = {}
    for name, part in parts.items():
        for key, grant in part.scenarios.items():
            at = [name, "scenarios", key]
            if key not in keys:
                document.fault(at, f"there is no scenario '{key}'", known(key, keys))
            check_grant(document, at, grant, domains, dimensions)
        profiles[name] = Profile(
            key=name,
            grants=tuple((key, build_grant(grant)) for key, grant in part.scenarios.items()),
            operations=part.operations,
        )
    return profiles


def check_grant(
    document: Document,
    at: list[str],
    grant: GrantPart,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> None:
    """Note domains and dimensions of a grant that do not exist."""
    cuttable = [key for key, dimension in dimensions.items() if not dimension.grain and not dimension.axis_only]
    for key in grant.dimensions:
        if key not in cuttable:
            document.fault([*at, "dimensions", key], f"there is no dimension '{key}'", known(key, cuttable))
    named = grant.domains.allow or grant.domains.deny or [] if grant.domains else []
    for key in (*named, *grant.open_domains):
        if key not in domains:
            document.fault([*at, "domains"], f"there is no domain '{key}'", known(key, domains))


def build_grant(part: GrantPart) -> Grant:
    """Return one grant."""
    return Grant(
        domains=names_of(part.domains) if part.domains else Names((), deny=True),
        dimensions=tuple(
            Cut(key, restriction.names, deny=restriction.deny)
            for key, restriction in ((key, names_of(allow)) for key, allow in part.dimensions.items())
        ),
        open_domains=tuple(part.open_domains),
    )


def names_of(part: AllowPart) -> Names:
    """Return a list of names, or of all but some."""
    return Names(tuple(part.allow or part.deny or ()), deny=part.allow is None)


def build_assignments(document: Document, file: ProfilesFile, profiles: Mapping[str, Profile]) -> list[Assignment]:
    """Return who has which profile."""
    for place, part in enumerate(file.assign):
        if part.profile not in profiles:
            document.fault(
                ["assign", place, "profile"], f"there is no profile '{part.profile}'", known(part.profile, profiles)
            )
        if part.subject is None and not part.claim:
            document.fault(["assign", place], "assigns a profile to nobody", "give subject or claim")
    return [
        Assignment(profile=part.profile, subject=part.subject, claims=tuple((part.claim or {}).items()))
        for part in file.assign
    ]
