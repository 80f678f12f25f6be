"""Feeds and loads as JSON; fields that are unknown or hidden are absent."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.model.errors import ECHO_CHARACTERS, cut
from engine.model.notes import Note, notes_as_data
from engine.model.stopping import Stop
from engine.present.answers.budget import Json, LeftOut, axes_of, cut_list, list_fields, split
from server.base.notes import ServerNote
from server.caller.feeds import LastLoads
from server.daemon.schedule import next_slot
from server.feeds.feeds import Attachment, Binding, ColumnMapping, Conversion, LoadAttempt, RejectAllowance, Schedule
from server.feeds.sources import SOURCES

OTHER_LOADS = (
    "A load works by its load_id alone: get_load_status describes it. Filter by binding_id, dataset_id, period or "
    "status for fewer."
)
OTHER_FEEDS = "A feed works by its binding_id alone: get_binding describes it. Filter by source_id or target for fewer."
REST_OF_FEED = "The deployment's integrations.yaml has the rest."
REST_OF_ERROR = "The log of the loader has the rest."


def loads_answer(found: Sequence[LoadAttempt], limit: int, notes: Sequence[Note], budget: int, stop: Stop) -> Json:
    """Return the first `limit` load attempts, each with the beginning of its error."""
    loads = [
        load_json(replace(attempt, message=attempt.message and cut(attempt.message, ECHO_CHARACTERS)))
        for attempt in found[:limit]
    ]

    def build(left: LeftOut) -> Json:
        return {**list_fields("load", loads, "load_id", left), "truncated": len(found) > limit, **notes_json(notes)}

    return cut_list(build, axes_of(load=loads), OTHER_LOADS, budget, stop)


def load_answer(attempt: LoadAttempt, notes: Sequence[Note], budget: int, stop: Stop, *, served: bool) -> Json:
    """Return one load attempt whole, and whether rows that it brought are served now."""
    error = attempt.message or ""

    def build(left: LeftOut) -> Json:
        shown = replace(attempt, message=error[: len(error) - left["error_characters"]] or None)
        return {**load_json(shown), "served_now": served, **notes_json(notes)}

    return cut_list(build, {"error_characters": len(error)}, REST_OF_ERROR, budget, stop)


LastOfFeeds = Mapping[str, LastLoads] | None  # None if the history of loads cannot be read


def bindings_answer(feeds: Sequence[Binding], last: LastOfFeeds, budget: int, stop: Stop) -> Json:
    """Return a list of feeds."""
    now = datetime.now(UTC)
    bindings, notes = [binding_json(feed, last, now) for feed in feeds], notes_json(unavailable(last))

    def build(left: LeftOut) -> Json:
        return {**list_fields("binding", bindings, "binding_id", left), **notes}

    return cut_list(build, axes_of(binding=bindings), OTHER_FEEDS, budget, stop)


def binding_answer(feed: Binding, last: LastOfFeeds, notes: Sequence[Note], budget: int, stop: Stop) -> Json:
    """Return one feed whole, with its configuration."""
    head, said = binding_json(feed, last, datetime.now(UTC)), notes_json([*notes, *unavailable(last)])

    def build(left: LeftOut) -> Json:
        return {**head, **configuration_json(feed, left), **said}

    return cut_list(build, configuration_axes(feed), REST_OF_FEED, budget, stop)


def unavailable(last: LastOfFeeds) -> list[Note]:
    """Return a note if the history of loads cannot be read."""
    return [ServerNote.of("history_unavailable")] if last is None else []


def notes_json(notes: Sequence[Note]) -> Json:
    """Return notes as a field of a result."""
    return {"notes": notes_as_data(notes)}


def load_json(attempt: LoadAttempt) -> Json:
    """Return one load attempt."""
    seconds = (attempt.finished_at - attempt.started_at).total_seconds() if attempt.finished_at else None
    parts = {
        "load_id": attempt.load_id,
        "binding_id": attempt.binding,
        "dataset_id": attempt.target,
        "source_id": attempt.source,
        "status": attempt.status.value,
        "started_at": time(attempt.started_at),
        "finished_at": time(attempt.finished_at),
        "seconds": None if seconds is None else max(0, round(seconds)),  # clocks can be set back
        "mode": attempt.mode.value,
        "periods": attempt.periods,
        "days": f"{attempt.span.first}..{attempt.span.last}" if attempt.span else None,
        "due_at": time(attempt.due_at),
        "rows_read": attempt.rows_read,
        "rows_landed": attempt.rows_landed,
        "rows_rejected": attempt.rows_rejected,
        "rejected": dict(attempt.rejected) or None,
        "rejects_file": attempt.rejects_file,
        "error": attempt.message,
    }
    return {name: part for name, part in parts.items() if part is not None}


def binding_json(feed: Binding, last: LastOfFeeds, now: datetime) -> Json:
    """Return one feed: its source, target, schedule and last loads."""
    loads = last[feed.key] if last else LastLoads()
    parts = {
        "binding_id": feed.key,
        "source_id": feed.source.key,
        "target": feed.target,
        "dataset_id": feed.target,
        "scenario": feed.scenario,
        "mode": feed.mode.value,
        "schedule": feed.schedule and schedule_json(feed.schedule, now),
        "last_attempt": short_json(loads.attempt, "started_at"),
        "last_success": short_json(loads.success, "finished_at"),
    }
    return {name: part for name, part in parts.items() if part is not None}


def schedule_json(schedule: Schedule, now: datetime) -> Json:
    """Return a feed's schedule and when it is next due."""
    due = next_slot(schedule, now)
    local = due and due.astimezone(ZoneInfo(schedule.timezone))
    return {"cron": schedule.cron, "timezone": schedule.timezone, **({"next_due": time(local)} if local else {})}


def short_json(attempt: LoadAttempt | None, when: str) -> Json | None:
    """Return a load's id, status and one of its times."""
    if attempt is None:
        return None
    return {"load_id": attempt.load_id, "status": attempt.status.value, when: time(getattr(attempt, when))}


def time(at: datetime | None) -> str | None:
    """Return a time as ISO 8601 text, to the second."""
    return None if at is None else at.isoformat(timespec="seconds")


def configuration_axes(feed: Binding) -> dict[str, int]:
    """Return the axes of a feed's configuration, in the order in which they are cut."""
    return {
        "mapped_values": sum(len(filling.values or {}) for filling in feed.fillings.values()),
        "mapping": len(feed.fillings),
        "parameters": len(feed.parameters),
        "extract_characters": len(feed.extract),
    }


def configuration_json(feed: Binding, left: LeftOut) -> Json:
    """Return a feed's configuration, less the parts that are left out."""
    extract = "attach" if feed.attach else SOURCES[feed.source.kind].extract
    parts: Json = {
        "source_kind": feed.source.kind.value,
        "source_variable": feed.source.environment,
        extract: feed.extract[: len(feed.extract) - left["extract_characters"]],
        "pin": feed.attach and pin_json(feed.attach),
        "sheet": feed.sheet,
        "parameters": first(feed.parameters, left["parameters"]),
        "mapping": first(mapping_json(feed.fillings, left["mapped_values"]), left["mapping"]),
        "conversion": feed.conversion and conversion_json(feed.conversion),
    }
    if feed.mode is LoadMode.REPLACE_PERIODS:
        parts |= {"period_column": feed.period_column, "recent_periods": feed.recent_periods}
    return {
        **{name: part for name, part in parts.items() if part},
        "rejects": rejects_json(feed.rejects),
        "unknown_members": "extend" if feed.extends_members else "reject",
        "allow_empty": feed.allows_empty,
    }


def pin_json(attached: Attachment) -> Json | str:
    """Return what tells that the rows of an attached table are those surveyed, as integrations.yaml writes it."""
    if attached.change is not None:
        return {"column": attached.change}
    return "time_travel" if attached.travels else "rows"


def rejects_json(allowed: RejectAllowance) -> Json | str:
    """Return how many rejected rows a feed allows, as integrations.yaml writes it."""
    by_reason = {reason.value: rows for reason, rows in allowed.by_reason.items()}
    return {"allow": by_reason or allowed.rows} if by_reason or allowed.rows else "fail"


def first(parts: Mapping[str, object], left: int) -> Json:
    """Return all parts but the last `left`."""
    return dict(list(parts.items())[: len(parts) - left])


def mapping_json(fillings: Mapping[str, ColumnMapping], left: int) -> Json:
    """Return what fills each column, less the last `left` mapped values."""
    shares = split(left, [len(filling.values or {}) for filling in fillings.values()])
    return {
        column: filling_json(filling, fewer) for (column, filling), fewer in zip(fillings.items(), shares, strict=True)
    }


def filling_json(filling: ColumnMapping, left: int) -> Json | str:
    """Return what fills one column: the name of an extract column if that says it all, else an object."""
    values = first(filling.values or {}, left)
    parts = {"column": filling.column, "constant": filling.constant, "format": filling.format, "values": values}
    said = {name: part for name, part in parts.items() if part}
    return filling.column if filling.column and len(said) == 1 else said


def conversion_json(conversion: Conversion) -> Json:
    """Return how a feed converts amounts."""
    parts = {
        "rates": conversion.rates,
        "kind": conversion.kind,
        "from": conversion.currency,
        "on": conversion.on,
        "measure": conversion.measure,
        "into": conversion.into,
        "round": conversion.rounding and {"places": conversion.rounding.places, "rule": conversion.rounding.rule.value},
    }
    return {name: part for name, part in parts.items() if part is not None}
