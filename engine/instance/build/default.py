"""The default report, from instance.yaml."""

from collections.abc import Mapping

from engine.calendar.calendar import Calendar
from engine.catalogue import ReportDefault, Statement
from engine.errors import BadPeriod
from engine.instance.build.names import known
from engine.instance.build.scenarios import check_reference
from engine.instance.documents import Document
from engine.instance.files.books import InstanceFile
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
    headings = [column.alias or column.scenario for column in part.scenarios]
    for place, column in enumerate(part.scenarios):
        check_reference(document, ["default", "scenarios", place], column.scenario, scenarios)
        if headings[place] in headings[:place]:
            document.fault(
                ["default", "scenarios", place],
                f"there is a column '{headings[place]}' already",
                "give each column an alias of its own",
            )
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
