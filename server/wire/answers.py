"""Answers of tools: JSON objects within a token budget."""

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

# Answers: one JSON object, sent as data and as text.


Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool returns: a JSON object, and a function that makes the block for its widget."""

    result: Json
    rendered: Callable[[], Json] | None = None

    def render_block(self) -> Json | None:
        """Return the block that a widget shows, None if there is none."""
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


# Lists cut to the budget. Details go before keys, and entries go from the end, so that a model can still ask for an
# entry whose details are missing.


Left = Mapping[str, int]  # by axis: how many entries are left out, counted from the end


def fitted(build: Callable[[Left], Json], axes: Mapping[str, int], answer_tokens: int, rest: str) -> Json:
    """Return a result that leaves out no more than its budget requires.

    `build` makes the result, given how many entries of each axis are left out. `axes` holds the number of entries of
    each axis, in the order in which they are cut. `agent_truncated` counts the entries left out. A note says the same,
    and `rest` tells how to get them.
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
    """Return a result with the counts and the note of what was left out."""
    words = ", ".join(f"{count} {axis.replace('_', ' ')}" for axis, count in cut.items())
    note = Note.of("shortened", left_out=words, rest=rest).as_data()
    return {**result, "notes": [*result.get("notes", ()), note], "agent_truncated": dict(cut)}


def axes_of(**lists: Sequence[Json]) -> dict[str, int]:
    """Return the axes of lists: the details of their entries, then the entries themselves."""
    details = {f"{name}_details": len(entries) for name, entries in lists.items()}
    return details | {f"{name}s": len(entries) for name, entries in lists.items()}


def listed(name: str, entries: Sequence[Json], key: str, left: Left) -> Json:
    """Return a list as fields of a result: entries with details, then the keys of further entries."""
    shown = len(entries) - left[f"{name}s"]
    detailed = min(shown, len(entries) - left[f"{name}_details"])
    more = [entry[key] for entry in entries[detailed:shown]]
    return {f"{name}s": list(entries[:detailed]), **({f"more_{name}s": more} if more else {})}


def split(left: int, sizes: Sequence[int]) -> list[int]:
    """Return how many entries each of several consecutive lists loses when `left` are cut from the end of the last."""
    shares = []
    for size in reversed(sizes):
        shares.append(min(left, size))
        left -= shares[-1]
    return shares[::-1]


def shortened(result: Json, lists: Sequence[str], answer_tokens: int, rest: str) -> Json:
    """Return a result whose lists are cut from their ends by the same share; a note and `more_` fields say so."""
    shown = result
    while (excess := tokens(shown) / answer_tokens) > 1 and any(shown[name] for name in lists):
        kept = {name: shown[name][: int(len(shown[name]) / excess)] for name in lists}
        cut = {name: len(result[name]) - len(kept[name]) for name in lists if len(kept[name]) < len(result[name])}
        shown = told(result | kept | {f"more_{name}": True for name in cut}, cut, rest)
    return shown


# Files on the wire.


LOCAL = "This link opens on the machine of the server alone; a host elsewhere cannot use it."


def given_json(given: LinkedFile) -> Json:
    """Return a file and its link, with times in UTC."""
    is_local = urlsplit(given.url).hostname in LOOPBACK
    return {
        **named_json(given.file),
        "download_url": given.url,
        "link_expires_at": time(given.link_ends),
        "file_expires_at": time(given.file.expires_at),
        **({"reachable_from": LOCAL} if is_local else {}),
    }


def reserved_json(reserved: UploadReservation) -> Json:
    """Return a reserved upload and the URL that receives its bytes."""
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
    """Return an uploaded or imported file."""
    told = {**named_json(file), "expires_at": time(file.expires_at)}
    return {**told, "notes": [note.as_data() for note in notes]} if notes else told


def named_json(file: File) -> Json:
    """Return the fields that every file has."""
    return {
        "file_id": file.file_id,
        "name": file.name,
        "mime_type": file.mime_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def time(moment: datetime) -> str:
    """Return a time as ISO 8601 text, to the second."""
    return moment.isoformat(timespec="seconds")


# Charts. `vega_lite` holds its own points, so any client can show it; `rows` holds the same points for a model. An
# answer over its budget loses rows from the end. If that is not enough, it loses the whole drawing instead: a drawing
# of some of the points would be another chart.


MOST_PRINTED = 2000  # characters of a script's output in an answer
REST = "export_dataset with this data_ref gives every row; chart_spec with render: artifact gives the whole picture."


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture file, or a note that says why there is none; neither if the caller asked for none."""

    given: LinkedFile | None = None
    note: Note | None = None


def spec_json(spec: ChartSpec) -> Mapping[str, Any]:
    """Return the fields of a spec that are set, as JSON."""
    asked = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {name: value for name, value in asked.items() if value not in (None, {}, ())}


def charted(
    chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: PictureFile, answer_tokens: int
) -> Answer:
    """Return a chart as an answer within its budget; raises BadArguments if no cut makes it fit."""
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
    """Return a result with the first `shown` rows and perhaps its drawing; counts and a note say what is left out."""
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
