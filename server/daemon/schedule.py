"""Schedules: when a feed loads next, which periods it loads, and when a failed load is retried.

Everything here is a function of a feed, the attempts to load it, and a time; the clock is the caller's.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from cronsim import CronSim
from msgspec import Struct

from engine.facts.load_modes import LoadMode
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, PeriodRange
from server.feeds.feeds import Binding, LoadAttempt, LoadStatus, Schedule

RETRIED = (
    LoadStatus.FAILED_CONNECT,
    LoadStatus.FAILED_EXTRACT,
    LoadStatus.FAILED_STAGE,
    LoadStatus.FAILED_PUBLISH,
    LoadStatus.FAILED_INTERRUPTED,
)


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """The delay before a failed load is retried: doubles with each failure, up to a limit."""

    first: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(minutes=15)

    def after(self, failures: int, load_id: str) -> timedelta:
        """Return the delay after some failures of one slot, the last of them `load_id`.

        Jitter shortens it by up to a half, so that the feeds of one source do not all retry at once. It depends on the
        load alone: every call returns the same delay.
        """
        whole = min(self.longest, self.first * (1 << min(failures - 1, 32)))
        chance = sha256(load_id.encode()).digest()[0] / 256
        return whole * (1 - chance / 2)


class ScheduledLoad(Struct, frozen=True, kw_only=True):
    """The time of a feed's next load, and the slot of its schedule that the load answers."""

    at: datetime
    slot: datetime
    failures: int = 0  # of this slot so far


def slots(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the slots after one instant up to another, in UTC.

    A schedule that names hours keeps to local time: an hour that daylight saving skips runs once, right after it, and
    one that comes twice runs the first time. A schedule of every hour runs every hour that passes.
    """
    last = after
    for tick in CronSim(to_local_hours(schedule.cron), after.astimezone(ZoneInfo(schedule.timezone))):
        slot = tick.astimezone(UTC)
        if slot > until:
            return
        if slot > last:  # minutes of a skipped hour all fall on its end, those of an hour's second coming on its first
            yield slot
            last = slot


def to_local_hours(cron: str) -> str:
    """Return an expression so that CronSim keeps it to local time where it names hours.

    CronSim does that for fields that do not begin with a star.
    """
    minute, hour, *days = cron.split()
    if hour == "*":
        return cron
    minute = f"0-59{minute[1:]}" if minute.startswith("*") else minute
    hour = f"0-23{hour[1:]}" if hour.startswith("*") else hour
    return " ".join((minute, hour, *days))


def next_slot(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the first slot after an instant, None where none ever comes."""
    return next(slots(schedule, after, datetime.max.replace(tzinfo=UTC)), None)


def latest_slot(schedule: Schedule, now: datetime) -> datetime | None:
    """Return the last slot that has come, None where none ever did."""
    zone = ZoneInfo(schedule.timezone)
    # backwards, CronSim passes over the first coming of a doubled hour during its second: look ahead from there
    back = next(CronSim(to_local_hours(schedule.cron), now.astimezone(zone), reverse=True), None)
    if back is None:
        return None
    start = min(back.astimezone(UTC), now) - timedelta(seconds=1)
    return max(slots(schedule, start, now), default=None)


def next_load(
    binding: Binding, attempts: Sequence[LoadAttempt], now: datetime, backoff: RetryPolicy
) -> ScheduledLoad | None:
    """Return when a scheduled feed is to be loaded next, None where it never is.

    Of the slots that passed unanswered only the latest is made up for. A slot is answered once an attempt for it, or
    for a later one, was made: it is tried again after failures that may pass by themselves, until the next slot comes.
    """
    if binding.schedule is None:
        return None
    latest, upcoming = latest_slot(binding.schedule, now), next_slot(binding.schedule, now)
    ahead = None if upcoming is None else ScheduledLoad(at=upcoming, slot=upcoming)
    if latest is None:
        return ahead
    answers = [attempt for attempt in attempts if attempt.due_at and latest <= attempt.due_at <= now]
    if not answers:
        return ScheduledLoad(at=latest, slot=latest)
    slot = max(attempt.due_at for attempt in answers if attempt.due_at)
    tries = [attempt for attempt in answers if attempt.due_at == slot]
    if any(attempt.status not in RETRIED for attempt in tries):
        return ahead
    finished, load_id = max((attempt.finished_at or attempt.started_at, attempt.load_id) for attempt in tries)
    again = finished + backoff.after(len(tries), load_id)
    return ScheduledLoad(at=again, slot=slot, failures=len(tries)) if upcoming is None or again < upcoming else ahead


def periods_of(
    binding: Binding, attempts: Sequence[LoadAttempt], now: datetime, calendar: Calendar
) -> PeriodRange | None:
    """Return the periods that a load in a feed's turn asks for, None where it does not ask by period.

    They are the recent ones up to today, and reach back as far as the loads of all slots since the last one that
    succeeded would have, and to the period of that one: however long nothing was loaded, nothing is missed.
    """
    if binding.mode is not LoadMode.REPLACE_PERIODS or binding.schedule is None:
        return None
    zone = ZoneInfo(binding.schedule.timezone)
    current = calendar.at(now.astimezone(zone).date(), Grain.MONTH)
    if current is None:
        return None
    first = current.ordinal - (binding.recent_periods - 1)
    answered = [attempt for attempt in attempts if attempt.due_at and attempt.due_at <= now]
    done = max((one.due_at for one in answered if one.due_at and one.status is LoadStatus.SUCCESS), default=None)
    if done is not None:
        held = calendar.at(done.astimezone(zone).date(), Grain.MONTH)
        first = min(first, held.ordinal if held else first)
        owed = next_slot(binding.schedule, done)
    else:
        owed = min((one.due_at for one in answered if one.due_at), default=None)
    missed = calendar.at(owed.astimezone(zone).date(), Grain.MONTH) if owed else None
    if missed is not None:
        first = min(first, missed.ordinal - (binding.recent_periods - 1))
    first = max(first, calendar.ordinals[Grain.MONTH][0])
    return PeriodRange(calendar.period(Grain.MONTH, first), current)
