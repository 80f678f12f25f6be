"""Schedules: slots through daylight saving, one load for all that was missed, and failures tried again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.model.calendar.fiscal import FiscalYear, fiscal_calendar
from engine.model.calendar.periods import PeriodRange
from server.daemon.schedule import RETRIED, RetryPolicy, latest_slot, next_load, next_slot, periods_of, slots
from server.feeds.feeds import Binding, FeedSource, LoadAttempt, LoadStatus, RejectAllowance, Schedule, SourceKind

BACKOFF = RetryPolicy()
CALENDAR = fiscal_calendar(FiscalYear())
DAILY = Schedule(cron="15 5 * * *", timezone="UTC")
FAILED = LoadStatus.FAILED_CONNECT
SUCCESS = LoadStatus.SUCCESS


def utc(text: str) -> datetime:
    """Return an instant of UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def feed(schedule: Schedule | None = DAILY, mode: LoadMode = LoadMode.REPLACE_PERIODS, recent: int = 2) -> Binding:
    """Return a feed of a schedule."""
    return Binding(
        key="gl",
        source=FeedSource(key="erp", kind=SourceKind.POSTGRESQL),
        target="live.gl",
        extract="",
        sheet=None,
        scenario=None,
        fillings={},
        rejects=RejectAllowance(),
        extends_members=False,
        allows_empty=False,
        mode=mode,
        schedule=schedule,
        recent_periods=recent,
    )


def attempt(due: str | datetime | None, status: LoadStatus, at: datetime | None = None) -> LoadAttempt:
    """Return an attempt for a slot that began and ended at one instant, the slot's where none is given."""
    slot = utc(due) if isinstance(due, str) else due
    when = at or slot or utc("2026-01-01")
    return LoadAttempt(
        load_id=f"{when:%Y%m%dT%H%M%S}-{status.value}",
        binding="gl",
        source="erp",
        target="live.gl",
        mode=LoadMode.REPLACE_PERIODS,
        status=status,
        started_at=when,
        finished_at=None if status is LoadStatus.RUNNING else when,
        due_at=slot,
    )


def codes(periods: PeriodRange | None) -> tuple[str, str] | None:
    """Return the codes of a range."""
    return None if periods is None else (periods.start.code, periods.end.code)


# ---------------------------------------------------------------------------------------------------- slots


@pytest.mark.parametrize(
    ("cron", "day", "expected"),
    [
        ("30 2 * * *", "2026-03-29", ["01:00"]),  # 02:30 does not exist: right after the gap, at 03:00 of summer
        ("*/20 2 * * *", "2026-03-29", ["01:00"]),  # three times in the hour that is skipped: once
        ("30 2 * * *", "2026-10-25", ["00:30"]),  # 02:30 comes twice: the first time
        ("*/20 2 * * *", "2026-10-25", ["00:00", "00:20", "00:40"]),
        ("0 */2 * * *", "2026-10-25", ["00:00", "03:00"]),  # 02:00 of summer, 04:00 of winter
        ("0 * * * *", "2026-10-25", ["00:00", "01:00", "02:00", "03:00"]),  # every hour that passes
        ("0 * * * *", "2026-03-29", ["00:00", "01:00", "02:00", "03:00"]),
    ],
)
def test_slots_where_daylight_saving_changes(cron: str, day: str, expected: list[str]) -> None:
    start = utc(f"{day}T00:00")
    found = slots(
        Schedule(cron=cron, timezone="Europe/Paris"), start - timedelta(seconds=1), start + timedelta(hours=3)
    )
    assert [f"{slot:%H:%M}" for slot in found] == expected


def read_field(text: str, span: range) -> set[int]:
    """Return the values of a field that is a number, a star, or a star with a step."""
    if text.startswith("*"):
        return set(span[:: int(text[2:] or 1) if "/" in text else 1])
    return {int(text)}


def slots_by_hand(minute: str, hour: str, zone: ZoneInfo, first: date, days: int) -> list[datetime]:
    """Return the slots of some days, minute by minute."""
    minutes, hours = read_field(minute, range(60)), read_field(hour, range(24))
    if hour == "*":
        start = datetime.combine(first, time(), UTC)
        passing = (start + timedelta(minutes=place) for place in range(days * 1440))
        return [instant for instant in passing if instant.astimezone(zone).minute in minutes]
    found = set()
    for place in range(-1440, (days + 1) * 1440):
        wall = datetime.combine(first, time()) + timedelta(minutes=place)
        if wall.minute in minutes and wall.hour in hours:
            while (there := wall.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(tzinfo=None) != wall:
                wall += timedelta(minutes=1)
            found.add(there)
    start = datetime.combine(first, time(), UTC)
    return sorted(slot for slot in found if start <= slot < start + timedelta(days=days))


FIELDS = st.tuples(
    st.one_of(st.integers(0, 59).map(str), st.sampled_from(["*", "*/7", "*/20", "*/30"])),
    st.one_of(st.integers(0, 4).map(str), st.integers(0, 23).map(str), st.sampled_from(["*", "*/2", "*/5"])),
)
HALF_HOUR = "Australia/Lord_Howe"  # what daylight saving moves the clock by
ZONES = st.sampled_from(
    [
        ("Europe/Paris", date(2026, 3, 28)),
        ("Europe/Paris", date(2026, 10, 24)),
        ("America/New_York", date(2026, 3, 7)),
        ("America/New_York", date(2026, 10, 31)),
        (HALF_HOUR, date(2026, 4, 4)),
        (HALF_HOUR, date(2026, 10, 3)),
        ("America/Santiago", date(2026, 9, 5)),  # at midnight
        ("Asia/Kolkata", date(2026, 3, 28)),
        ("UTC", date(2026, 3, 28)),
    ]
)


@given(FIELDS, ZONES, st.integers(0, 2 * 86400))
def test_slots_are_those_found_minute_by_minute(fields: tuple[str, str], where: tuple[str, date], second: int) -> None:
    zone, first = where
    assume(
        zone != HALF_HOUR or fields[1] != "*"
    )  # CronSim steps over one slot of the hour that comes one and a half times
    schedule = Schedule(cron=f"{fields[0]} {fields[1]} * * *", timezone=zone)
    expected = slots_by_hand(*fields, ZoneInfo(zone), first, 3)
    start = datetime.combine(first, time(), UTC)
    assert list(slots(schedule, start - timedelta(seconds=1), start + timedelta(days=3, seconds=-1))) == expected
    now = start + timedelta(days=1, seconds=second / 2)
    passed, coming = [slot for slot in expected if slot <= now], [slot for slot in expected if slot > now]
    assert not passed or latest_slot(schedule, now) == passed[-1]
    assert not coming or next_slot(schedule, now) == coming[0]


def test_the_latest_slot_of_a_rare_schedule_is_found_at_once() -> None:
    leap = Schedule(cron="0 0 29 2 *", timezone="Europe/Paris")
    assert latest_slot(leap, utc("2026-11-21")) == utc("2024-02-28T23:00")
    assert next_slot(leap, utc("2026-11-21")) == utc("2028-02-28T23:00")


# ------------------------------------------------------------------------------------------- whose turn it is


def test_a_feed_without_a_schedule_is_left_alone() -> None:
    assert next_load(feed(None), [], utc("2026-11-21T09:00"), BACKOFF) is None


def test_a_feed_that_never_answered_a_slot_answers_the_latest_at_once() -> None:
    turn = next_load(feed(), [], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert turn.at == turn.slot == utc("2026-11-21T05:15")


def test_of_the_slots_that_were_missed_only_the_latest_is_made_up_for() -> None:
    turn = next_load(feed(), [attempt("2026-08-20T05:15", SUCCESS)], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert (turn.slot, turn.failures) == (utc("2026-11-21T05:15"), 0)


@pytest.mark.parametrize("status", [SUCCESS, LoadStatus.FAILED_VALIDATE, LoadStatus.RUNNING])
def test_an_answered_slot_waits_for_the_next(status: LoadStatus) -> None:
    turn = next_load(feed(), [attempt("2026-11-21T05:15", status)], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert turn.at == turn.slot == utc("2026-11-22T05:15")


def test_a_load_that_somebody_started_answers_no_slot() -> None:
    by_hand = attempt(None, SUCCESS, utc("2026-11-21T08:00"))
    turn = next_load(feed(), [by_hand], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert turn.slot == utc("2026-11-21T05:15")


@pytest.mark.parametrize("status", RETRIED)
def test_failures_that_may_pass_are_tried_again_ever_later(status: LoadStatus) -> None:
    slot = utc("2026-11-21T05:15")
    tries: list[LoadAttempt] = []
    now, waits = slot, []
    for _ in range(8):
        tries.insert(0, attempt(slot, status, now))
        turn = next_load(feed(), tries, now, BACKOFF)
        assert turn is not None
        assert (turn.slot, turn.failures) == (slot, len(tries))
        waits.append((turn.at - now).total_seconds())
        now = turn.at
    for wait, whole in zip(waits, [30, 60, 120, 240, 480, 900, 900, 900], strict=True):
        assert whole / 2 <= wait <= whole


def test_the_last_failure_decides_when_it_is_tried_again_in_whatever_order_they_are_known() -> None:
    slot = utc("2026-11-21T05:15")
    tries = [attempt(slot, FAILED, slot), attempt(slot, FAILED, slot + timedelta(minutes=5))]
    turns = [next_load(feed(), known, slot + timedelta(minutes=5), BACKOFF) for known in (tries, tries[::-1])]
    assert turns[0] == turns[1]
    assert turns[0] is not None
    assert turns[0].at > slot + timedelta(minutes=5)


def test_the_next_slot_puts_an_end_to_trying_again() -> None:
    hourly = feed(Schedule(cron="0 * * * *", timezone="UTC"))
    last = attempt("2026-11-21T05:00", FAILED, utc("2026-11-21T05:59:50"))
    turn = next_load(hourly, [last], utc("2026-11-21T05:59:55"), BACKOFF)
    assert turn is not None
    assert (turn.at, turn.slot, turn.failures) == (utc("2026-11-21T06:00"), utc("2026-11-21T06:00"), 0)


def test_feeds_that_failed_together_are_not_tried_again_together() -> None:
    waits = {BACKOFF.after(5, f"load-{number}") for number in range(20)}
    assert len(waits) > 10
    assert BACKOFF.after(10_000, "load") <= BACKOFF.longest


def test_no_slot_is_answered_twice_when_the_clock_is_set_back() -> None:
    hourly = feed(Schedule(cron="0 * * * *", timezone="UTC"))
    done = [attempt("2026-11-21T05:00", SUCCESS), attempt("2026-11-21T04:00", SUCCESS)]
    for now in ("2026-11-21T04:10", "2026-11-21T04:59", "2026-11-21T05:00", "2026-11-21T05:59"):
        turn = next_load(hourly, done, utc(now), BACKOFF)
        assert turn is not None
        assert turn.at > utc(now)


def test_a_slot_of_a_clock_that_ran_far_ahead_does_not_stop_a_feed() -> None:
    turn = next_load(feed(), [attempt("2099-01-01T05:15", SUCCESS)], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert turn.slot == utc("2026-11-21T05:15")


def test_a_schedule_moved_to_a_later_hour_waits_for_it() -> None:
    later = feed(Schedule(cron="0 23 * * *", timezone="UTC"))
    turn = next_load(later, [attempt("2026-11-21T05:15", SUCCESS)], utc("2026-11-21T09:00"), BACKOFF)
    assert turn is not None
    assert turn.slot == utc("2026-11-21T23:00")


# ------------------------------------------------------------------------------------------ for which periods


NOW = "2026-11-21T09:00"


@pytest.mark.parametrize(
    ("recent", "attempts", "now", "expected"),
    [
        (2, [], NOW, ("2026-10", "2026-11")),
        (1, [], NOW, ("2026-11", "2026-11")),
        (2, [attempt("2026-11-20T05:15", SUCCESS)], NOW, ("2026-10", "2026-11")),
        (2, [attempt("2026-08-20T05:15", SUCCESS)], NOW, ("2026-07", "2026-11")),  # what 21 August would have asked for
        (1, [attempt("2026-08-31T05:15", SUCCESS)], NOW, ("2026-08", "2026-11")),  # never later than the last one's
        (
            2,
            [attempt("2026-11-20T05:15", FAILED), attempt("2026-08-20T05:15", SUCCESS)],
            NOW,
            ("2026-07", "2026-11"),
        ),  # the source was down, not the daemon
        (2, [attempt("2026-11-20T05:15", FAILED), attempt("2026-09-20T05:15", FAILED)], NOW, ("2026-08", "2026-11")),
        (2, [attempt("2099-01-01T05:15", SUCCESS)], NOW, ("2026-10", "2026-11")),
        (2, [], "1900-01-10T09:00", ("1900-01", "1900-01")),
        (2, [], "2300-01-10T09:00", None),
    ],
)
def test_periods_reach_back_over_all_that_was_missed(
    recent: int, attempts: Sequence[LoadAttempt], now: str, expected: tuple[str, str] | None
) -> None:
    assert codes(periods_of(feed(recent=recent), attempts, utc(now), CALENDAR)) == expected


def test_the_month_is_that_of_the_schedules_time_zone() -> None:
    auckland = feed(Schedule(cron="0 1 * * *", timezone="Pacific/Auckland"), recent=1)
    assert codes(periods_of(auckland, [], utc("2026-11-30T12:00"), CALENDAR)) == ("2026-12", "2026-12")


def test_feeds_that_are_loaded_whole_ask_for_no_periods() -> None:
    assert periods_of(feed(mode=LoadMode.FULL), [], utc(NOW), CALENDAR) is None


# --------------------------------------------------------------------------------- a year of a daemon, simulated


@dataclass
class SimulatedFeed:
    """A feed that a daemon looks at now and then."""

    binding: Binding
    attempts: list[LoadAttempt] = field(default_factory=list)
    asked: dict[str, PeriodRange] = field(default_factory=dict)  # load to its periods

    def look(self, now: datetime, ends: LoadStatus) -> None:
        """Load the feed where it is its turn, and let the load end somehow."""
        turn = next_load(self.binding, self.attempts, now, BACKOFF)
        if turn is None or turn.at > now:
            return
        made = replace(attempt(turn.slot, ends, now), load_id=f"{len(self.attempts)}")
        periods = periods_of(self.binding, self.attempts, now, CALENDAR)
        assert periods is not None
        self.asked[made.load_id] = periods
        self.attempts.insert(0, made)


ENDS = st.sampled_from([SUCCESS, *RETRIED, LoadStatus.FAILED_VALIDATE])
CRONS = st.sampled_from(["15 5 * * *", "0 * * * *", "0 6 * * MON", "30 23 1 * *", "0 0 L * *"])


@given(
    CRONS,
    st.integers(1, 3),
    st.lists(st.tuples(st.floats(0.0001, 60), ENDS), min_size=1, max_size=60),
)
def test_whenever_a_daemon_runs_no_slot_succeeds_twice_and_no_month_is_missed(
    cron: str, recent: int, looks: list[tuple[float, LoadStatus]]
) -> None:
    schedule = Schedule(cron=cron, timezone="Europe/Paris")
    simulated = SimulatedFeed(feed(schedule, recent=recent))
    now = start = utc("2026-01-15T12:00")
    for days, ends in looks:
        now += timedelta(days=days)
        simulated.look(now, ends)
    done = [one for one in reversed(simulated.attempts) if one.status is SUCCESS]
    assert len({one.due_at for one in done}) == len(done)
    for before, after in pairwise(done):
        for missed in slots(schedule, before.due_at or start, after.due_at or start):
            owed = periods_of(simulated.binding, [], missed, CALENDAR)
            assert owed is not None
            assert simulated.asked[after.load_id].start.ordinal <= owed.start.ordinal
            assert simulated.asked[after.load_id].end.ordinal >= owed.end.ordinal
    assert all(one.due_at and one.due_at > start - timedelta(days=32) for one in simulated.attempts)


@given(CRONS, st.lists(st.tuples(st.floats(-3, 5), ENDS), min_size=1, max_size=60))
def test_whatever_the_clock_does_no_slot_succeeds_twice(cron: str, looks: list[tuple[float, LoadStatus]]) -> None:
    simulated = SimulatedFeed(feed(Schedule(cron=cron, timezone="Europe/Paris")))
    now = utc("2026-06-15T12:00")
    for days, ends in looks:
        now += timedelta(days=days)
        simulated.look(now, ends)
    done = [one.due_at for one in simulated.attempts if one.status is SUCCESS]
    assert len(set(done)) == len(done)
