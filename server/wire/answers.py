"""Answers on their way out: JSON objects within a token budget."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from engine.model.errors import BadArguments
from engine.model.notes import Note
from engine.model.requests import ChartSpec
from engine.present.answers.budget import DataRef, tokens
from engine.present.answers.reports import answer, freshness_json
from engine.present.answers.rows import columns_json, rows_answer
from engine.present.blocks import grid, table
from engine.present.charts.charts import Chart
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.report.transform import Transform
from server.base.interfaces import File
from server.base.settings import LOOPBACK
from server.caller.files import LinkedFile
from server.caller.uploads import UploadReservation

# Answers on their way out: a JSON object, once as data and once as text.


Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool returns: a JSON object, and how the block beside it is made that a widget renders."""

    result: Json
    rendered: Callable[[], Json] | None = None

    def render_block(self) -> Json | None:
        """Return what a widget shows, where there is something to show."""
        return None if self.rendered is None else self.rendered()


def reported(report: Report, data_ref: DataRef, answer_tokens: int) -> Answer:
    """Return a report as an answer within its budget."""
    return Answer(answer(report, answer_tokens, data_ref), partial(table, report, data_ref))


def inspected(inspection: Inspection, data_ref: DataRef, answer_tokens: int) -> Answer:
    """Return rows as an answer within its budget."""
    answered = rows_answer(inspection, answer_tokens, data_ref)
    return Answer(answered, partial(grid, inspection, answered))


def as_text(result: Json) -> str:
    """Return a result as JSON text."""
    return to_json(result, inf_nan_mode="null").decode()


# Lists on their way out: as much of them as an answer may hold, and what was left out, counted.
#
# What goes first is what a model needs least: details of an entry before its key, entries from the end. An entry
# without details is still named, so that it can be asked for.


Left = Mapping[str, int]  # how much of each axis is left out, from its end


def fitted(build: Callable[[Left], Json], axes: Mapping[str, int], answer_tokens: int, rest: str) -> Json:
    """Return a result of which as little is left out as makes it fit its budget.

    `build` makes the result of how much is left out of each axis; `axes` says how much there is of each, in the order
    in which they go. `agent_truncated` counts what was left out, and a note says it with `rest`: how to get it.
    """

    def made(left: Left) -> Json:
        result, cut = build(left), {axis: count for axis, count in left.items() if count}
        return told(result, cut, rest) if cut else result

    def fits(left: Left) -> bool:
        return tokens(made(left)) <= answer_tokens

    left = dict.fromkeys(axes, 0)
    for axis, count in axes.items():
        if fits(left):
            break
        steps = [{**left, axis: fewer} for fewer in range(count + 1)]
        left = steps[bisect_left(steps, True, hi=count, key=fits)]
    return made(left)


def told(result: Json, cut: Left, rest: str) -> Json:
    """Return a result that says what was left out of it."""
    words = ", ".join(f"{count} {axis.replace('_', ' ')}" for axis, count in cut.items())
    note = Note.of("shortened", left_out=words, rest=rest).as_data()
    return {**result, "notes": [*result.get("notes", ()), note], "agent_truncated": dict(cut)}


def axes_of(**lists: Sequence[Json]) -> dict[str, int]:
    """Return what can be left out of some lists: the details of the entries of each, then the entries of each."""
    details = {f"{name}_details": len(entries) for name, entries in lists.items()}
    return details | {f"{name}s": len(entries) for name, entries in lists.items()}


def listed(name: str, entries: Sequence[Json], key: str, left: Left) -> Json:
    """Return a list as parts of a result: entries with their details, then only the keys of more."""
    shown = len(entries) - left[f"{name}s"]
    detailed = min(shown, len(entries) - left[f"{name}_details"])
    more = [entry[key] for entry in entries[detailed:shown]]
    return {f"{name}s": list(entries[:detailed]), **({f"more_{name}s": more} if more else {})}


def split(left: int, sizes: Sequence[int]) -> list[int]:
    """Return how much is left out of each of several lists in a row when so much is left out from their end."""
    shares = []
    for size in reversed(sizes):
        shares.append(min(left, size))
        left -= shares[-1]
    return shares[::-1]


def shortened(result: Json, lists: Sequence[str], answer_tokens: int, rest: str) -> Json:
    """Return a result whose lists are cut from their ends, each by as much; it says so, and that there are more."""
    shown = result
    while (excess := tokens(shown) / answer_tokens) > 1 and any(shown[name] for name in lists):
        kept = {name: shown[name][: int(len(shown[name]) / excess)] for name in lists}
        cut = {name: len(result[name]) - len(kept[name]) for name in lists if len(kept[name]) < len(result[name])}
        shown = told(result | kept | {f"more_{name}": True for name in cut}, cut, rest)
    return shown


# Files on the wire.


LOCAL = "This link opens on the machine of the server alone; a host elsewhere cannot use it."


def given_json(given: LinkedFile) -> Json:
    """Return a file and its link, times as UTC."""
    is_local = urlsplit(given.url).hostname in LOOPBACK
    return {
        **named_json(given.file),
        "download_url": given.url,
        "link_expires_at": time(given.link_ends),
        "file_expires_at": time(given.file.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def reserved_json(reserved: UploadReservation) -> Json:
    """Return an upload that was begun, and where its bytes are sent."""
    upload = reserved.upload
    is_local = urlsplit(reserved.url).hostname in LOOPBACK
    return {
        "upload_id": upload.upload_id,
        "name": upload.name,
        "mime_type": upload.mime_type,
        "size_bytes": upload.size_bytes,
        "upload_url": reserved.url,
        "method": "PUT",
        "expires_at": time(upload.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def file_json(file: File, notes: Sequence[Note] = ()) -> Json:
    """Return a file that came from outside."""
    told = {**named_json(file), "expires_at": time(file.expires_at)}
    return {**told, "notes": [note.as_data() for note in notes]} if notes else told


def named_json(file: File) -> Json:
    """Return what every file says of itself."""
    return {
        "file_id": file.file_id,
        "name": file.name,
        "mime_type": file.mime_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def time(moment: datetime) -> str:
    """Return a time as UTC."""
    return moment.isoformat(timespec="seconds")


# Charts on their way out: the points, a drawing that stands by itself, and what can be trusted of them.
#
# The drawing holds its points, so that any client can show it as it is; `rows` are the same points for a model to read.
# Where both are longer than an answer may be, rows go first, from the end; where the drawing alone is too long, it goes
# instead, whole: a drawing of some of the points would be another chart.


MOST_PRINTED = 2000  # characters that an answer shows of what a script printed
REST = "export_dataset with this data_ref gives every row; chart_spec with render: artifact gives the whole picture."


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture as a file, or the note that says why there is none, or neither where none was asked for."""

    given: LinkedFile | None = None
    note: Note | None = None


def spec_json(spec: ChartSpec) -> Mapping[str, Any]:
    """Return what was asked of a spec, as JSON."""
    asked = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {name: value for name, value in asked.items() if value not in (None, {}, ())}


def charted(
    chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: PictureFile, answer_tokens: int
) -> Answer:
    """Return a chart as an answer within its budget."""
    whole = result_of(chart, transform, data_ref, printed, picture)
    if tokens(whole) <= answer_tokens:
        return Answer(whole)
    every = len(chart.rows)
    for draws in (True, False):
        tried = range(every + 1)
        left = bisect_left(tried, True, key=lambda left: tokens(cut(whole, every - left, draws=draws)) <= answer_tokens)
        if left in tried:
            return Answer(cut(whole, every - left, draws=draws))
    raise BadArguments(
        f"Even without its points this chart is longer than {answer_tokens} tokens. Give fewer data_refs, or results "
        "of fewer scenarios.",
        field="data_refs",
        got=len(transform.inputs),
    )


def result_of(chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: PictureFile) -> Json:
    """Return the whole result object."""
    notes = (*transform.notes, *([picture.note] if picture.note else ()))
    return {
        "chart_type": chart.chart_type,
        "title": chart.title,
        "unit": chart.unit,
        "summary": chart.summary,
        "columns": [{"name": column.name, "unit": column.unit} for column in chart.columns],
        "rows": [list(row) for row in chart.rows],
        "vega_lite": dict(chart.vega_lite),
        "inputs": list(transform.inputs),
        "notes": data_ref.notes(notes),
        "freshness": freshness_json(transform.freshness),
        "catalogue_version": transform.catalogue_version,
        "data_version": transform.data_version,
        **data_ref.as_data(),
        "dataset": {"row_count": transform.frame.height, "columns": columns_json(transform)},
        **({"printed": printed[:MOST_PRINTED]} if printed else {}),
        **({"artifact": given_json(picture.given)} if picture.given else {}),
    }


def cut(whole: Json, shown: int, *, draws: bool) -> Json:
    """Return a result with so many rows, with or without its drawing; what is left out is counted and said."""
    missing = len(whole["rows"]) - shown
    parts = [*([f"{missing} rows"] if missing else []), *([] if draws else ["vega_lite"])]
    note = Note.of("shortened", left_out=" and ".join(parts), rest=REST).as_data()
    return {
        **whole,
        "rows": whole["rows"][:shown],
        "vega_lite": whole["vega_lite"] if draws else None,
        "notes": [*whole["notes"], note],
        "agent_truncated": {**({"rows": missing} if missing else {}), **({} if draws else {"vega_lite": True})},
    }
