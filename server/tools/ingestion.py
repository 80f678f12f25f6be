"""Ingestion status: the feeds, their schedules, and the results of their loads."""

from collections.abc import Callable, Collection, Iterable, Mapping

from engine.books.reader import Reader
from engine.model.calendar.periods import Period
from engine.model.errors import ECHO_NAMES, BadArguments, UnknownName, closest, guess, quoted
from engine.model.notes import Note
from engine.model.scenarios import live
from engine.queries.ranges import LastClosed
from server.base.notes import ServerNote
from server.base.requests import BindingRequest, BindingsRequest, LoadHistoryRequest, LoadRequest
from server.caller.caller import Caller
from server.feeds.feeds import Binding, LoadStatus
from server.feeds.visible_feeds import VisibleFeed, is_served
from server.tools.examples import feed_example, history_example, no_example, target_example
from server.tools.tool import Tool
from server.wire.answers import Answer
from server.wire.feeds import binding_answer, bindings_answer, load_answer, loads_answer

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


NAMES: Mapping[str, tuple[str, Callable[[Binding], str]]] = {
    "binding_id": ("feed", lambda feed: feed.key),
    "dataset_id": ("dataset", lambda feed: feed.target),
    "source_id": ("source", lambda feed: feed.source.key),
    "target": ("target", lambda feed: feed.target),
}


def list_load_history(caller: Caller, asked: LoadHistoryRequest) -> Answer:
    """List attempts to load, the most recent first."""
    feeds = asked_feeds(caller, binding_id=asked.binding_id, dataset_id=asked.dataset_id)
    span = None if asked.period is None else asked_period(asked.period, feeds.values(), caller.reader).span
    limit, notes = limit_of(asked.limit)
    found = caller.feeds.find(list(feeds), span=span, statuses=statuses_of(asked.status), limit=limit + 1)
    notes += withheld(feeds[attempt.binding] for attempt in found[:limit])
    return Answer(loads_answer(found, limit, notes, caller.answer_tokens, caller.stop))


def get_load_status(caller: Caller, asked: LoadRequest) -> Answer:
    """Describe one attempt to load, and tell whether rows that it brought are served now."""
    seen = caller.feeds.seen
    attempt = caller.feeds.get(asked.load_id)
    if attempt is None:
        recent = [known.load_id for known in caller.feeds.find(list(seen), limit=ECHO_NAMES)]
        hint = "list_load_history lists the loads."
        raise UnknownName.of("load", asked.load_id, recent, field="load_id", hint=hint)
    served, notes = is_served(attempt, caller.reader), withheld([seen[attempt.binding]])
    return Answer(load_answer(attempt, notes, caller.answer_tokens, caller.stop, served=served))


def list_bindings(caller: Caller, asked: BindingsRequest) -> Answer:
    """List the feeds with their schedules, and how each was loaded last."""
    feeds = asked_feeds(caller, source_id=asked.source_id, target=asked.target)
    bindings = [feed.binding for feed in feeds.values()]
    return Answer(bindings_answer(bindings, caller.feeds.last(list(feeds)), caller.answer_tokens, caller.stop))


def get_binding(caller: Caller, asked: BindingRequest) -> Answer:
    """Describe one feed: where it reads what, when, and what becomes of it."""
    (feed,) = asked_feeds(caller, binding_id=asked.binding_id).values()
    last = caller.feeds.last([feed.binding.key])
    return Answer(binding_answer(feed.binding, last, withheld([feed]), caller.answer_tokens, caller.stop))


def asked_period(text: str, feeds: Iterable[VisibleFeed], reader: Reader) -> Period:
    """Return the period of a text; the last closed one is that of the first scenario with one, in what feeds fill."""
    filled = {feed.binding.target for feed in feeds}
    domains = [domain for domain in reader.domains.values() if domain.table in filled] or list(reader.domains.values())
    keys = [domain.key for domain in domains]
    last_closed = LastClosed(reader, domains, keys, live(reader.scenarios).values())
    return last_closed.one(text, last_closed.grain(), "period")


def asked_feeds(caller: Caller, **names: str | None) -> Mapping[str, VisibleFeed]:
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
        raise BadArguments(
            f"There is no status {quoted([status])}.{guess(close)} failed_* stands for every failure.",
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


def withheld(feeds: Iterable[VisibleFeed]) -> list[Note]:
    """Return a note if details are hidden because the caller may read only part of a dataset."""
    return [] if all(feed.whole for feed in feeds) else [ServerNote.of("withheld")]


# How fresh the data is: loads and feeds.


INGESTION = (
    Tool(
        name="list_load_history",
        title="Load history",
        hint="loads, late or failed data",
        description=(
            "List loads, latest first: which feed filled which dataset (the live table), when, how it ended, rows "
            "landed, why it failed. Tells whether figures are fresh, and has none."
        ),
        request=LoadHistoryRequest,
        run=list_load_history,
        example=history_example,
    ),
    Tool(
        name="get_load_status",
        title="Load status",
        hint="state and error of one load",
        description=(
            "Describe one load: its times, rows read, landed and rejected, its error, and served_now: whether figures "
            "are made of its rows now."
        ),
        request=LoadRequest,
        run=get_load_status,
        example=no_example,  # a load_id is of one deployment
    ),
    Tool(
        name="list_bindings",
        title="List feeds",
        hint="feeds, their schedules and sources",
        description=(
            "List the data feeds (bindings): source, live table, schedule with the time it is due next, last attempt "
            "and last success."
        ),
        request=BindingsRequest,
        run=list_bindings,
        example=target_example,
    ),
    Tool(
        name="get_binding",
        title="Feed configuration",
        hint="mapping and parameters of one feed",
        description=(
            "Describe one feed: its extract query or file pattern, parameters, columns, currency conversion, "
            "schedule, and what becomes of rejected rows and unknown members. Credentials are never shown."
        ),
        request=BindingRequest,
        run=get_binding,
        example=feed_example,
    ),
)
