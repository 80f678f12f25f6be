"""Draws instances: the files of one, as texts by their names."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tests.differential.calendars import FileCalendar

DAY = timedelta(days=1)
PRODUCTS, ENTITIES = ("P", "Q", "R", "S", "T"), ("DE", "FR", "US")
SCENARIOS = ("actual", "budget", "forecast")
AMOUNTS = ("1", "2.5", "10", "-4", "100", "0", "33.33", "-0.01", "1000", "7")
LARGE = ("14138732330296.85", "39.99", "-8370070925745.68", "63525940995754.58", "3", "7")
CLOSED = ("", "2025-12", "2026-01", "2026-02", "2026-03", "2025")


@dataclass(frozen=True)
class DrawnInstance:
    """The files of an instance, and the profile that it is asked as; none: all of it."""

    files: Mapping[str, str]
    profile: str | None

    def write(self, folder: Path) -> None:
        """Write the files into a folder."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def draw_instance(rng: Random) -> DrawnInstance:
    """Draw an instance of a ledger by product and entity, and of people by entity alone."""
    calendar_key = rng.choice(("fiscal", "fiscal", "fiscal", "445", "13"))
    instance: dict[str, Any] = {"name": "Drawn", "currency": "EUR"}
    table = ""
    if calendar_key == "fiscal":
        instance["fiscal_year"] = {"starts": rng.choice((1, 1, 4, 7)), "named_by": rng.choice(("end", "start"))}
    else:
        instance["calendar"] = "calendar.csv"
        table = draw_table(rng, calendar_key)
    calendar = FileCalendar(instance, [dict(zip(HEAD, line.split(","), strict=True)) for line in table.split("\n")[1:]])
    grains = {
        "gl": rng.choice(
            ("date", "date", "date", "week", "week", "month", "quarter" if calendar_key != "13" else "year")
        ),
        "people": rng.choice(("date", "month", "week", "month")),
    }
    anchors = [date(2026, 1, 1) + DAY * rng.randrange(-20, 110) for _ in range(2)]
    days = sorted({moved(rng, anchor) for anchor in anchors for _ in range(6)})
    files = {
        "instance.yaml": json.dumps(instance),
        "dimensions.yaml": json.dumps({k: v for k, v in DIMENSIONS.items() if k != "qtr" or calendar_key != "13"}),
        "scenarios.yaml": json.dumps(draw_scenarios(rng)),
        "integrations.yaml": json.dumps(FEEDS),
        "data/n_ptree.csv": draw_tree(rng, PRODUCTS),
        "data/n_etree.csv": draw_tree(rng, ENTITIES),
        "data/gl.csv": draw_rows(
            rng, calendar, grains["gl"], days, LARGE if rng.random() < 0.1 else AMOUNTS, ledger=True
        ),
        "data/people.csv": draw_rows(rng, calendar, grains["people"], days, AMOUNTS, ledger=False),
        "domains/gl.yaml": json.dumps(draw_ledger(rng, grains["gl"], calendar_key=calendar_key)),
        "domains/people.yaml": json.dumps(draw_people(rng, grains["people"])),
    }
    lines = [{"metric": f"gl.{key}"} for key in rng.sample(LEDGER_LINES, 4)]
    lines += [{"metric": f"people.{key}"} for key in ("cost", "heads", "largest", "companies")]
    files["statements/all.yaml"] = json.dumps({"statement": "all", "lines": lines})
    if table:
        files["calendar.csv"] = table
    profiles, profile = draw_profiles(rng)
    files["profiles.yaml"] = json.dumps(profiles)
    return DrawnInstance(files, profile)


HEAD = ("year", "period", "quarter", "week", "first_day", "last_day")
LEDGER_LINES = ("m", "neg", "bal", "part", "mean", "net", "ratio", "rows_", "cond")
FEEDS = {
    "sources": {"files": {"kind": "folder", "path": "data"}},
    "bindings": {
        name: {
            "source": "files",
            "target": f"live.{name}",
            "file": f"{name}.csv",
            **({} if name.startswith("n_") else {"unknown_members": "extend", "numbers": {"blank": "none"}}),
            "allow_empty": True,
        }
        for name in ("n_ptree", "n_etree", "gl", "people")
    },
}
DIMENSIONS = {
    "product": {"kind": "leaf"},
    "entity": {"kind": "leaf"},
    "ptree": {"kind": "ragged", "leaf_dimension": "product", "nodes": "live.n_ptree"},
    "etree": {"kind": "ragged", "leaf_dimension": "entity", "nodes": "live.n_etree"},
    "mth": {"kind": "leaf", "grain": "month"},
    "wk": {"kind": "leaf", "grain": "week"},
    "qtr": {"kind": "leaf", "grain": "quarter"},
    "yr": {"kind": "leaf", "grain": "year"},
}


def moved(rng: Random, anchor: date) -> date:
    """Return a day near an anchor, this year or a year before."""
    return anchor + DAY * rng.choice((0, 0, 1, 3, 7, 14, 31, 35)) - DAY * rng.choice((0, 0, 364, 365, 366, 371))


def draw_table(rng: Random, key: str) -> str:
    """Draw a table of trading years from 2024 to 2027: by 4-4-5 or by 13 periods, of 52 or 53 weeks."""
    day = date(2023, 12, 11) + DAY * rng.randrange(0, 70)
    lengths = (4, 4, 5) * 4 if key == "445" else (4,) * 13
    lines = [",".join(HEAD)]
    for year in range(2024, 2028):
        week, longer = 0, rng.random() < 0.4
        for period, weeks in enumerate(lengths, 1):
            for _ in range(weeks + (longer and period == len(lengths))):
                week += 1
                quarter = (period - 1) // 3 + 1 if key == "445" else ""
                lines.append(f"{year},{period},{quarter},{week},{day},{day + 6 * DAY}")
                day += 7 * DAY
    return "\n".join(lines)


def draw_tree(rng: Random, leaves: Sequence[str]) -> str:
    """Draw a tree over some leaves, at times with weights, and with two nodes that hold a leaf."""
    weights = rng.choice((("1",), ("1", "1", "-1", "0.5"), ("1", "1", "1", "0")))
    root = rng.random() < 0.6
    lines = ["node,parent,weight"]
    if root:
        lines.append(f"ALL,,{rng.choice(('', '1', '0.5'))}")
    top = "ALL" if root else ""
    for node, members in (("A", leaves[:2]), ("B", leaves[2:4])):
        lines.append(f"{node},{top},{rng.choice(weights)}")
        lines += [f"{leaf},{node},{rng.choice(weights)}" for leaf in members]
    if len(leaves) > 4 and rng.random() < 0.7:
        lines.append(f"{leaves[4]},{rng.choice(('A', top))},{rng.choice(weights)}")
    return "\n".join(lines) + "\n"


def draw_rows(
    rng: Random, calendar: FileCalendar, grain: str, days: Sequence[date], amounts: Sequence[str], *, ledger: bool
) -> str:
    """Draw rows of facts."""
    lines = ["t,scenario,product,entity,amt,qty" if ledger else "t,scenario,entity,amt"]
    for scenario in SCENARIOS:
        for _ in range(rng.choice((0, 4, 9, 14)) if scenario == "forecast" else rng.choice((5, 10, 16))):
            period = calendar.at(grain, rng.choice(days))
            if period is None:
                continue
            members = [rng.choice((*PRODUCTS, "A", ""))] if ledger else []
            members.append(rng.choice((*ENTITIES, *ENTITIES, "")))
            amount = rng.choice(amounts) if rng.random() < 0.95 else ""
            units = [rng.choice(("", "1", "2", "3", "-1"))] if ledger else []
            lines.append(",".join((period.code, scenario, *members, amount, *units)))
    return "\n".join(lines) + "\n"


def draw_scenarios(rng: Random) -> dict[str, Any]:
    """Draw the scenarios; the budget has a variant."""
    adjust: list[dict[str, Any]] = [{"where": {"product": ["P", "Q"]}, "factor": 0.92, "measures": ["amt"]}]
    if rng.random() < 0.5:
        adjust.append({"where": {"entity": ["DE"]}, "factor": 0.5, "measures": ["amt"]})
    found: dict[str, Any] = {
        "actual": {"alias": "A", "kind": "actual"},
        "budget": {"alias": "B", "kind": "budget", "variants": {"down": {"label": "Down", "adjust": adjust}}},
        "forecast": {"alias": "F", "kind": "forecast"},
    }
    if closed := rng.choice(CLOSED):
        found["actual"]["closed_through"] = closed
    if rng.random() < 0.15:
        found["budget"]["closed_through"] = "2026-02"
    return found


def draw_profiles(rng: Random) -> tuple[dict[str, Any], str | None]:
    """Draw the profiles, and as which one the books are asked."""
    profiles: dict[str, Any] = {
        "all": {"operations": True, "scenarios": {"*": {}}},
        "assign": [{"subject": "dev", "profile": "all"}],
    }
    if rng.random() < 0.5:
        return profiles, None
    grants = {}
    for scenario in SCENARIOS:
        cut = rng.choice(
            ({}, {"product": {"allow": ["P", "Q"]}}, {"product": {"deny": ["R"]}}, {"entity": {"allow": ["DE", "FR"]}})
        )
        grants[scenario] = {"dimensions": cut, "open_domains": ["people"]} if "product" in cut else {"dimensions": cut}
    profiles["cut"] = {"scenarios": grants}
    return profiles, "cut"


def draw_ledger(rng: Random, grain: str, *, calendar_key: str) -> dict[str, Any]:
    """Draw the domain of the ledger."""
    part = rng.choice(({"product": ["P", "R"]}, {"ptree": ["A"]}, {"entity": ["DE", "US"]}, {"ptree": ["B", "P"]}))
    of = {
        "date": ("day", "month", "quarter" if calendar_key != "13" else "year"),
        "week": ("month",),
        "month": ("month",),
        "quarter": ("quarter", "year"),
    }
    means: Any = {"average": {"of": rng.choice(of.get(grain, ("year",)))}}
    if grain == "week" and calendar_key == "fiscal":
        means = "closing"

    balances: dict[str, dict[str, Any]] = (
        {"b": {"where": {}, "grain": rng.choice(("day", "month"))}} if grain == "date" and rng.random() < 0.5 else {}
    )
    if balances and balances["b"]["grain"] == "month":
        means = {"average": {"of": "month"}}
    if not balances and means == {"average": {"of": "day"}}:
        means = {"average": {"of": "month"}}
    group = {"balance": "b"} if balances else {}
    known = rng.choice(({"last_known": "always"}, {"last_known": "fiscal_year"}, {"last_known": "range"}))
    date_rule = rng.choice(({"to_date": "books"}, {"to_date": "fiscal_year"}))
    described: dict[str, Any] = {
        "domain": "gl",
        "table": "live.gl",
        "scenario": "scenario",
        "time": {"column": "t", "grain": "day" if grain == "date" else grain},
        "dimensions": {"product": "product", "entity": "entity"},
        "measures": {"amt": {"type": "money", "places": 2}, "qty": {"type": "number", "places": 0}},
        "inspect_enabled": True,
        "metrics": {
            "units": {"measure": "qty"},
            "m": {"measure": "amt", "drivers": {"volume": "units", "price": "price"}},
            "neg": {"measure": "amt", "sign": "negate"},
            "part": {"measure": "amt", "where": part},
            "cond": {"measure": "amt", "where": {"amt": rng.choice(("< 0", "> 2", "<= 10"))}},
            "rows_": {"over_members": "count"},
            "kinds": {"over_members": {"count_distinct": "product"}},
            "big": {"measure": "amt", "over_members": "max"},
            "small": {"measure": "amt", "over_members": "min", "over_time": rng.choice(("sum", "closing")), **group},
            "mean": {"measure": "amt", "over_members": "average"},
            "bal": {"measure": "amt", "over_time": "closing", **group},
            "before": {"measure": "amt", "over_time": "opening", **group},
            "known": {"measure": "amt", "over_time": known, **group},
            "dated": {"measure": "amt", "over_time": date_rule, **group},
            "dated_before": {"measure": "amt", "over_time": {"opening": date_rule}, **group},
            "avg": {"measure": "amt", "over_time": means, **group},
            "net": {"formula": "m - part"},
            "k": {"formula": "cond + 5"},
            "plus": {"formula": "part + k"},
            "twice": {"formula": "2 * k - neg / 4"},
            "ratio": {"formula": "part / m", "format": "percent"},
            "price": {"formula": "m / units"},
            "flow": {"formula": "bal - before"},
            "profit": {"formula": "m - people.cost"},
            "third": {"formula": "m / 3"},
        },
    }
    if described["metrics"]["small"]["over_time"] == "sum":
        described["metrics"]["small"].pop("balance", None)
    if balances:
        described["balances"] = balances
    return described


def draw_people(rng: Random, grain: str) -> dict[str, Any]:
    """Draw the domain of people."""
    return {
        "domain": "people",
        "table": "live.people",
        "scenario": "scenario",
        "time": {"column": "t", "grain": "day" if grain == "date" else grain},
        "dimensions": {"entity": "entity"},
        "measures": {"amt": {"type": "money", "places": 2}},
        "inspect_enabled": True,
        "metrics": {
            "cost": {"measure": "amt"},
            "heads": {"measure": "amt", "over_time": rng.choice(("closing", "opening", {"last_known": "always"}))},
            "largest": {"measure": "amt", "over_members": "max"},
            "companies": {"over_members": {"count_distinct": "entity"}},
        },
    }
