"""Transforms: tables of scripts are kept with their types, and opened by who may see all that they were made of."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime, time
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from engine.door import Door, open_books
from engine.model.errors import ExpiredReference, UnknownName
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.kinds import RESULT_KINDS
from engine.present.exports.workbook import write_workbook
from engine.report.explanation import Explanation
from engine.report.inspection import Inspection
from engine.report.permission import joined
from engine.report.report import Report
from engine.report.snapshots import KINDS, given, keep, opened, permission_from, still_allows
from engine.report.transform import INPUTS, Given, ScriptOutput, Transform, transformed
from tests.support.answers.workbooks import cells, go_on, grid

MADE_AT = ExportStamp(at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC), subject="ann")
SCENARIOS = {"Actuals": "actual", "Budget": "budget"}
CODE = "result = df\n# =1+1"
EVERY_TYPE = pl.DataFrame(
    {
        "text": ["=1+1", None, "å"],
        "count": [2**53, None, -1],
        "number": [0.1, None, -2.5e-7],
        "flag": [True, None, False],
        "day": [date(2026, 1, 31), None, date(1899, 1, 1)],
        "at": [datetime.fromisoformat("2026-01-31T12:30"), None, datetime.fromisoformat("1899-01-01")],
        "clock": [time(12, 30), None, time(0)],
        "list": [[1.5, None], None, []],
    }
)
PROFILES = (None, "europe", "sales_americas", "it_costs")


@pytest.fixture(scope="module")
def doors(demo_folder: Path) -> dict[str | None, Door]:
    """The books of the demo as each of its profiles sees them, and whole."""
    return {profile: open_books(demo_folder, profile=profile) for profile in PROFILES}


def revenue(door: Door) -> Report:
    """Return the revenue of some months."""
    return door.metric("revenue", scenarios=SCENARIOS, period=("2026-01", "2026-03"), dimensions=["period"])


def sales(door: Door) -> Report:
    """Return sales by organisation."""
    return door.metric("sales_amount", scenarios=SCENARIOS, period="2026-01", dimensions=["organisation"])


def staff(door: Door) -> Report:
    """Return heads."""
    return door.metric("headcount", scenarios=SCENARIOS, period="2026-01")


def rows(door: Door) -> Inspection:
    """Return rows of the ledger."""
    return door.rows("gl", scenario="actual", period="2026-01", limit=5)


def made_of(*inputs: Given, frame: pl.DataFrame | None = None) -> Transform:
    """Return what a script left."""
    left = inputs[0].frame if frame is None else frame
    return transformed(ScriptOutput("A table", CODE, {"chart_type": "bar"}, left), inputs)


def test_a_transform_is_opened_as_it_was_kept_each_column_of_its_type(doors: dict[str | None, Door]) -> None:
    door = doors[None]
    transform = made_of(revenue(door), rows(door), frame=EVERY_TYPE)
    again = opened(keep(transform), door.reader)
    assert isinstance(again, Transform)
    assert again.frame.equals(EVERY_TYPE)
    assert again.frame.schema == EVERY_TYPE.schema
    for name in ("label", "units", "code", "chart", "inputs", "notes", "freshness", "permission", "data_version"):
        assert getattr(again, name) == getattr(transform, name), name
    empty = made_of(revenue(door), frame=EVERY_TYPE.clear())
    assert opened(keep(empty), door.reader).frame.schema == EVERY_TYPE.schema


def test_a_script_is_given_the_frame_of_each_kind_of_result(doors: dict[str | None, Door]) -> None:
    door = doors[None]
    for kept in (revenue(door), rows(door), made_of(revenue(door), frame=EVERY_TYPE)):
        found = given(keep(kept), door.reader)
        assert type(found) is type(kept)
        assert found.frame.equals(kept.frame)
        assert made_of(found).units == made_of(kept).units
        assert made_of(found).inputs == made_of(kept).inputs
        assert made_of(found).permission == made_of(kept).permission


def test_a_transform_opens_for_whom_every_input_opens(doors: dict[str | None, Door]) -> None:
    inputs: list[Given] = []
    for door in doors.values():
        for ask in (revenue, sales, staff, rows):
            with suppress(UnknownName):
                inputs.append(ask(door))
    told = set()
    for first, second in combinations(inputs, 2):
        permission = joined([first.permission, second.permission])
        again = permission_from(json.loads(json.dumps(to_builtins(permission))))
        assert again == permission
        for door in doors.values():
            each = still_allows(first.permission, door.reader) and still_allows(second.permission, door.reader)
            assert still_allows(permission, door.reader) == each
            told.add(each)
    assert told == {True, False}


def test_of_members_counted_twice_the_most_are_held_and_of_others_none_can_be_told(
    doors: dict[str | None, Door],
) -> None:
    europe = sales(doors["europe"]).permission
    (leaf, (count, digest)), *_ = europe.members.items()
    grown = replace(europe, members={**europe.members, leaf: (count + 1, "later")})
    other = replace(europe, members={**europe.members, leaf: (count, "other")})
    assert joined([europe, europe]) == europe
    assert joined([grown, europe]).members[leaf] == (count + 1, "later")
    assert joined([europe, grown, europe]).members[leaf] == (count + 1, "later")
    assert joined([europe, other]).members[leaf] == (count, "") != (count, digest)


def test_a_transform_of_what_is_hidden_expires_for_who_sees_less(doors: dict[str | None, Door]) -> None:
    of_both = made_of(sales(doors["europe"]), sales(doors[None]))
    of_europe = made_of(sales(doors["europe"]))
    opened(keep(of_europe), doors["europe"].reader)
    opened(keep(made_of(of_europe)), doors["europe"].reader)
    for kept in (of_both, made_of(of_europe, of_both)):
        opened(keep(kept), doors[None].reader)
        with pytest.raises(ExpiredReference):
            opened(keep(kept), doors["europe"].reader)
        with pytest.raises(ExpiredReference):
            given(keep(kept), doors["europe"].reader)


def test_units_are_those_of_figures_that_came_through_untouched(doors: dict[str | None, Door]) -> None:
    report, heads = revenue(doors[None]), staff(doors[None])
    value = pl.col("value")
    frame = report.frame.select(
        "period",
        value,
        renamed=value,
        scaled=value / 1000,
        summed=value.cum_sum(),
        level=pl.col("level").cast(pl.Int64),
        none=pl.lit(None, pl.Float64),
    )
    assert made_of(report, heads, frame=frame).units == {"value": "EUR", "renamed": "EUR"}
    wide = report.frame.pivot(on="alias", index="period", values="value")
    assert made_of(report, frame=wide).units == {"Actuals": "EUR", "Budget": "EUR"}
    mixed = pl.DataFrame({"value": [report.frame["value"][0], heads.frame["value"][0]]})
    assert made_of(report, heads, frame=mixed).units == {}
    zeros = report.frame.select(value=pl.when(pl.col("alias") == "Budget").then(0.0).otherwise("value"))
    assert made_of(report, heads, frame=zeros).units == {"value": "EUR"}
    nothing = pl.DataFrame({"value": [0.0, 0.0], "unit": ["number", "number"]})
    assert made_of(report, heads, frame=nothing.select("value")).units == {}
    assert made_of(report, heads, frame=nothing).units == {"value": "number"}
    assert made_of(rows(doors[None])).units == {"amount": "EUR"}
    assert made_of(made_of(report, frame=frame), frame=frame.select("renamed", "scaled")).units == {"renamed": "EUR"}


def test_notes_and_freshness_of_every_input_are_carried_on(doors: dict[str | None, Door]) -> None:
    door = doors[None]
    unknown = door.metric("revenue", scenarios=SCENARIOS, period="2026-01", filters={"account": "nobody"})
    transform = made_of(unknown, staff(door), rows(door), staff(door))
    assert transform.notes[0] == unknown.notes[0]
    assert transform.notes[-1].code == "script_figures"
    assert len(transform.notes) == len(set(transform.notes))
    assert transform.freshness.keys() == {"gl", "people"}
    assert transform.freshness["people"] == staff(door).freshness["people"]
    assert transform.data_version == staff(door).data_version


def test_a_transform_is_exported_to_json_with_its_script_and_inputs(
    doors: dict[str | None, Door], tmp_path: Path
) -> None:
    transform = made_of(revenue(doors[None]), rows(doors[None]), frame=EVERY_TYPE)
    write_document(transform, MADE_AT, tmp_path / "made.json", go_on)
    document = json.loads((tmp_path / "made.json").read_text())
    assert document["made_for"] == "ann"
    assert [column["type"] for column in document["columns"]] == [
        *("text", "integer", "number", "boolean", "date", "datetime", "time", "list")
    ]
    assert document["rows"][0] == [
        *("=1+1", 2**53, 0.1, True, "2026-01-31", "2026-01-31T12:30:00", "12:30:00", [1.5, None])
    ]
    assert document["transform_code"] == CODE
    assert document["inputs"] == list(transform.inputs)
    assert "Actuals, Budget" in document["inputs"][0]
    assert document["notes"][-1]["code"] == "script_figures"
    assert document["freshness"]["gl"]["actual"]["load_id"]


def test_a_transform_is_exported_to_a_workbook_with_its_types(doors: dict[str | None, Door], tmp_path: Path) -> None:
    transform = made_of(revenue(doors[None]), frame=EVERY_TYPE)
    path = tmp_path / "made.xlsx"
    write_workbook(transform, MADE_AT, path, go_on)
    assert grid(path)[0] == EVERY_TYPE.columns
    written = cells(path)
    assert {place: kind for place, (kind, _) in written.items() if place.endswith("2")} == {
        "A2": "inlineStr",
        "B2": "n",
        "C2": "n",
        "D2": "b",
        "E2": "n",
        "F2": "n",
        "G2": "inlineStr",
        "H2": "inlineStr",
    }
    assert float(written["C2"][1]) == 0.1
    assert float(written["B2"][1]) == 2**53  # 16 digits, of which a spreadsheet holds 15
    assert float(written["B4"][1]) == -1
    assert "f" not in {kind for kind, _ in written.values()}
    assert not {"A3", "B3", "C3", "D3", "E3", "F3", "G3", "H3"} & written.keys()
    assert (written["E4"][1], written["F4"][1]) == ("1899-01-01", "1899-01-01 00:00:00")
    said = {row[0]: row[1] for row in grid(path, 1)}
    assert said["By the script"] == CODE
    assert said["Made of: frames[0]"] == transform.inputs[0]
    notes = [row[1] for row in grid(path, 1) if row[0] == "Note"]
    assert any("floating point" in note for note in notes)
    assert "1 figures have more digits than a spreadsheet holds; comments of their cells have all digits." in notes


def test_what_is_no_number_is_a_text_in_a_workbook(doors: dict[str | None, Door], tmp_path: Path) -> None:
    frame = pl.DataFrame({"number": [float("nan"), float("inf"), float("-inf"), -0.0, 1e300]})
    write_workbook(made_of(revenue(doors[None]), frame=frame), MADE_AT, tmp_path / "made.xlsx", go_on)
    assert list(cells(tmp_path / "made.xlsx").values())[1:4] == [
        ("inlineStr", "NaN"),
        ("inlineStr", "Infinity"),
        ("inlineStr", "-Infinity"),
    ]
    assert [float(row[0]) for row in grid(tmp_path / "made.xlsx")[4:]] == [0, 1e300]


def test_each_kind_of_result_is_kept_given_to_scripts_and_presented() -> None:
    kinds = {Report, Inspection, Transform, Explanation}
    assert {kind.made for kind in KINDS.values()} == set(INPUTS) == set(RESULT_KINDS) == kinds
