"""A reader of short answers: it fills in the defaults that docs/tools.md names, as a client would, and nothing else."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import product
from typing import Any

from engine.notes.currency_notes import MIXED
from engine.present.answers import reports
from engine.present.answers.budget import NOT_KEPT, DataRef
from engine.report.data import ReportData
from tests.support.answers.drills import Json

SCALES = {0: "", 3: " thousands", 6: " millions", 9: " billions"}


def answer(report: ReportData, budget: int, data_ref: DataRef = NOT_KEPT) -> Json:
    """Return the answer of a report as a reader has it."""
    return filled_in(reports.answer(report, budget, data_ref))


def filled_in(result: Json) -> Json:
    """Return an answer with its defaults; what is no report or inspection as it is."""
    if "row_count" in result and "columns" in result:
        columns = [{"label": column["name"], **column} for column in result["columns"]]
        return {"notes": [], "labels": {}, "dataset_available": True, **result, "columns": columns}
    if "rows" not in result or ("statement" not in result and "metrics" not in result):
        return result
    shared: Json = {"scale": 0, "decimals": None, "notes": [], "dataset_available": True}
    return {**shared, **result, **tables(result), "freshness": freshness(result["freshness"])}


def tables(result: Json) -> Json:
    """Return the columns and rows: of metrics each column is a metric in a scenario, the total has a key."""
    money = result.get("currency", MIXED) + SCALES[result.get("scale", 0)]
    shared = {"template": result.get("drill", {})}
    if "statement" in result:
        columns = [{"alias": known["scenario"], "members": {}, **shared, **known} for known in result["columns"]]
        return {
            "columns": [{"key": f"c{at}", **known} for at, known in enumerate(columns, 1)],
            "rows": list(lines(result["rows"], money, len(columns))),
        }
    scenarios = [{"alias": scenario["scenario"], **shared, **scenario} for scenario in result["scenarios"]]
    pairs = list(product(result["metrics"], scenarios))
    return {
        "metrics": [metric["key"] for metric in result["metrics"]],
        "columns": [
            {**column(metric, scenario, money), "key": f"c{at}"} for at, (metric, scenario) in enumerate(pairs, 1)
        ],
        "rows": [place(row, result.get("dimensions", []), by_time(result)) for row in result["rows"]],
    }


OF_NEGATIVE = {"less negative": "up", "more negative": "down"}


def lines(rows: list[Json], money: str, columns: int) -> Iterator[Json]:
    """Yield the lines of a statement; one below another is favourable as the one before."""
    before = "up"
    for row in rows:
        known = line({**({"favourable": before} if row.get("level") else {}), **row}, money, columns)
        before = known["favourable"]
        yield {**known, "favourable": OF_NEGATIVE.get(before, before)}


def line(row: Json, money: str, columns: int) -> Json:
    """Return a line of a statement, or a metric; a header has no values."""
    shared = {"label": row["key"], "level": 0, "favourable": "up"}
    if row.get("kind") == "header":
        return {**shared, "favourable": "none", "unit": None, "values": [None] * columns, **row}
    unit = {} if row.get("unit") != "fraction" else {"variance_unit": "pp"}
    return {**shared, "kind": "metric", "unit": money, **unit, **row}


def column(metric: Json, scenario: Json, money: str) -> Json:
    """Return the column of a metric in a scenario."""
    known = line(metric, money, 0)
    is_difference = scenario["scenario"].startswith("var(") and known["unit"] == "fraction"
    unit = scenario.get("unit", "pp" if is_difference else known["unit"])
    shown = {key: part for key, part in {**known, **scenario}.items() if key not in ("drill", "variance_unit")}
    shown["favourable"] = OF_NEGATIVE.get(known["favourable"], known["favourable"])
    drill = {"drill": scenario["drill"]} if "drill" in scenario else {}
    return {**shown, **drill, "metric": metric["key"], "unit": unit, "of_metric": metric}


def by_time(result: Json) -> str:
    """Return what the periods of the drill template are taken from."""
    return str(result.get("drill", {}).get("period_start", ""))


def said(member: str, placeholder: str, time: str) -> str:
    """Return the label of a member that has none: its id, or the name of the period that it is."""
    is_month = placeholder == time and re.fullmatch(r"\d{4}-\d\d", member)
    return f"{date.fromisoformat(member + '-01'):%b %Y}" if is_month else member


def place(row: Json, dimensions: list[str], time: str) -> Json:
    """Return a row of members, or the total."""
    if "key" not in row and "members" not in row:
        return {"key": "total", "label": "Total", "level": 0, "kind": "total", "unit": None, "members": {}, **row}
    members = row.get("members") or {dimensions[0]: row["key"]}
    labels = row.get("labels", {})
    kind = "others" if "holds" in row else "member"
    shared = {"key": "/".join(members.values()), "level": 0, "kind": kind, "unit": None, "members": members}
    names = {key: "{row.key}" if len(dimensions) == 1 else f"{{row.members.{key}}}" for key in members}
    label = " · ".join(labels.get(key, said(member, names[key], time)) for key, member in members.items())
    return {**shared, "label": label, **row}


def freshness(domains: Mapping[str, Mapping[str, Any]]) -> Json:
    """Return the freshness of every scenario as an object."""
    return {
        domain: {
            scenario: {"open": None, **(known if isinstance(known, Mapping) else {"through": known})}
            for scenario, known in scenarios.items()
        }
        for domain, scenarios in domains.items()
    }
