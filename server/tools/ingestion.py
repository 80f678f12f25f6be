"""Ingestion status: the feeds, their schedules, and the results of their loads."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from engine.books.visible_feeds import FeedSeen, is_served
from engine.model.errors import ECHO_CHARACTERS, ECHO_NAMES, BadArguments, UnknownName, closest, cut, quoted
from engine.model.feeds import Binding, LoadStatus
from engine.model.notes import Note
from engine.model.requests import BindingRequest, BindingsRequest, LoadHistoryRequest, LoadRequest
from server.caller.caller import Caller
from server.caller.feeds import LastLoads
from server.tools.tool import Tool
from server.wire.answers import Answer, Json, Left, axes_of, fitted, listed
from server.wire.feeds import binding_json, configuration_axes, configuration_json, load_json

# Ingestion status: which feeds there are, when they are due, and how their loads went.


DEFAULT, MOST = 50, 200
FAILED = tuple(status for status in LoadStatus if status.failed)
STATUSES: Mapping[str, Collection[LoadStatus]] = {
    "running": (LoadStatus.RUNNING,),
    "success": (LoadStatus.SUCCESS,),
    "failed_*": FAILED,
    "failed": FAILED,
    **{status.value: (status,) for status in FAILED},
}
OTHER_LOADS = (
    "A load works by its load_id alone: get_load_status describes it. Filter by binding_id, dataset_id, period or "
    "status for fewer."
)
OTHER_FEEDS = "A feed works by its binding_id alone: get_binding describes it. Filter by source_id or target for fewer."
REST_OF_FEED = "The deployment's integrations.yaml has the rest."
REST_OF_ERROR = "The log of the loader has the rest."


NAMES: Mapping[str, tuple[str, Callable[[Binding], str]]] = {
    "binding_id": ("feed", lambda feed: feed.key),
    "dataset_id": ("dataset", lambda feed: feed.target),
    "source_id": ("source", lambda feed: feed.source.key),
    "target": ("target", lambda feed: feed.target),
}


def list_load_history(caller: Caller, asked: LoadHistoryRequest) -> Answer:
    """List attempts to load, the most recent first."""
    feeds = asked_feeds(caller, binding_id=asked.binding_id, dataset_id=asked.dataset_id)
    calendar = caller.reader.catalogue.calendar
    span = None if asked.period is None else calendar.parse(asked.period, "period").span
    limit, notes = limit_of(asked.limit)
    found = caller.feeds.find(list(feeds), span=span, statuses=statuses_of(asked.status), limit=limit + 1)
    shown = found[:limit]
    brief = [replace(attempt, message=attempt.message and cut(attempt.message, ECHO_CHARACTERS)) for attempt in shown]
    loads = [load_json(attempt) for attempt in brief]
    notes += withheld(feeds[attempt.binding] for attempt in shown)

    def build(left: Left) -> Json:
        return {**listed("load", loads, "load_id", left), "truncated": len(found) > limit, **said(notes)}

    return Answer(fitted(build, axes_of(load=loads), caller.answer_tokens, OTHER_LOADS))


def get_load_status(caller: Caller, asked: LoadRequest) -> Answer:
    """Describe one attempt to load, and tell whether rows that it brought are served now."""
    seen = caller.feeds.seen
    attempt = caller.feeds.get(asked.load_id)
    if attempt is None:
        recent = [known.load_id for known in caller.feeds.find(list(seen), limit=ECHO_NAMES)]
        hint = "list_load_history lists the loads."
        raise UnknownName.of("load", asked.load_id, recent, field="load_id", hint=hint)
    served, notes = is_served(attempt, caller.reader), withheld([seen[attempt.binding]])
    error = attempt.message or ""

    def build(left: Left) -> Json:
        shown = replace(attempt, message=error[: len(error) - left["error_characters"]] or None)
        return {**load_json(shown), "served_now": served, **said(notes)}

    return Answer(fitted(build, {"error_characters": len(error)}, caller.answer_tokens, REST_OF_ERROR))


def list_bindings(caller: Caller, asked: BindingsRequest) -> Answer:
    """List the feeds with their schedules, and how each was loaded last."""
    feeds = asked_feeds(caller, source_id=asked.source_id, target=asked.target)
    last, now = caller.feeds.last(list(feeds)), datetime.now(UTC)
    bindings = [binding_json(feed.binding, last[key] if last else LastLoads(), now) for key, feed in feeds.items()]
    notes = said([Note.of("history_unavailable")] if last is None else [])

    def build(left: Left) -> Json:
        return {**listed("binding", bindings, "binding_id", left), **notes}

    return Answer(fitted(build, axes_of(binding=bindings), caller.answer_tokens, OTHER_FEEDS))


def get_binding(caller: Caller, asked: BindingRequest) -> Answer:
    """Describe one feed: where it reads what, when, and what becomes of it."""
    (feed,) = asked_feeds(caller, binding_id=asked.binding_id).values()
    last = caller.feeds.last([feed.binding.key])
    head = binding_json(feed.binding, last[feed.binding.key] if last else LastLoads(), datetime.now(UTC))
    notes = said([*withheld([feed]), *([Note.of("history_unavailable")] if last is None else [])])

    def build(left: Left) -> Json:
        return {**head, **configuration_json(feed.binding, left), **notes}

    return Answer(fitted(build, configuration_axes(feed.binding), caller.answer_tokens, REST_OF_FEED))


def asked_feeds(caller: Caller, **names: str | None) -> Mapping[str, FeedSeen]:
    """Return the feeds that match all names given; raises a Refusal for a name that no feed has."""
    feeds = caller.feeds.seen
    for field, name in names.items():
        kind, name_of = NAMES[field]
        visible = {name_of(feed.binding) for feed in caller.feeds.seen.values()}
        if name is not None and name not in visible:
            raise UnknownName.of(kind, name, visible, field=field, hint="list_bindings lists the feeds.")
        feeds = {key: feed for key, feed in feeds.items() if name in (None, name_of(feed.binding))}
    return feeds


def statuses_of(status: str | None) -> Collection[LoadStatus]:
    """Return the statuses that one stands for, all where none is asked for; refuse what is none."""
    if status is None:
        return tuple(LoadStatus)
    if status not in STATUSES:
        close = closest(status, list(STATUSES))
        guess = f" Did you mean {quoted(close)}?" if close else ""
        raise BadArguments(
            f"There is no status {quoted([status])}.{guess} failed_* stands for every failure.",
            field="status",
            got=status,
            valid=STATUSES,
            did_you_mean=close,
        )
    return STATUSES[status]


def limit_of(limit: int | None) -> tuple[int, list[Note]]:
    """Return how many loads to list at most."""
    if limit is None:
        return DEFAULT, []
    if limit < 1:
        raise BadArguments(f"limit {limit} is below 1. Leave it out, or give 1 to {MOST}.", field="limit", got=limit)
    return min(limit, MOST), [Note.of("limit_reduced", got=str(limit), maximum=str(MOST))] if limit > MOST else []


def withheld(feeds: Iterable[FeedSeen]) -> list[Note]:
    """Return a note if details are hidden because the caller may read only part of a dataset."""
    return [] if all(feed.whole for feed in feeds) else [Note.of("withheld")]


def said(notes: Sequence[Note]) -> Json:
    """Return notes as part of a result."""
    return {"notes": [note.as_data() for note in notes]}


# How fresh the data is: loads and feeds.


INGESTION = (
    Tool(
        name="list_load_history",
        title="Load history",
        description=(
            "List the attempts to load data, the most recent first: which feed filled which dataset (dataset_id is "
            "the live table), when, how it ended, how many rows landed, and why it failed. Answers whether the "
            "data behind figures is fresh and complete; no figures here. Filters combine with AND."
        ),
        request=LoadHistoryRequest,
        run=list_load_history,
        example={"dataset_id": "live.gl", "period": "2026-09", "status": "success", "limit": 5},
    ),
    Tool(
        name="get_load_status",
        title="Load status",
        description=(
            "Describe one load whole: its times, rows read, landed and rejected, its error, and served_now: "
            "whether rows it brought are among those that figures are made of now. Take the load_id from "
            "list_load_history or from the freshness of a result."
        ),
        request=LoadRequest,
        run=get_load_status,
        example={},  # a load_id is of one deployment
    ),
    Tool(
        name="list_bindings",
        title="List feeds",
        description=(
            "List the data feeds (bindings): the source and the live table of each, its schedule with the time it "
            "is due next, its last attempt and its last success. Answers when data will be fresh again."
        ),
        request=BindingsRequest,
        run=list_bindings,
        example={"target": "live.gl"},
    ),
    Tool(
        name="get_binding",
        title="Feed configuration",
        description=(
            "Describe one data feed whole: its extract query or file pattern, parameters, what fills each column, "
            "currency conversion, schedule, and what becomes of rejected rows and unknown members. Credentials "
            "are never shown. Take the binding_id from list_bindings."
        ),
        request=BindingRequest,
        run=get_binding,
        example={"binding_id": "gl"},
    ),
)
