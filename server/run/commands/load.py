"""tieout load: load feeds into the books."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from engine.facts.load_modes import LoadMode
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.errors import BadPeriod, MixedGrains
from server.base.settings import Settings
from server.base.signals import interrupt_on_sigterm
from server.feeds.feeds import Binding
from server.feeds.instance import ServedInstance, read_instance
from server.run.commands.console import FAULTY, end_imports, err, takes_instance
from server.run.embedded.platform import platform


class BadCommand(ValueError):
    """Invalid arguments of the command; the message says which are valid."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("binding", nargs="*", metavar="BINDING", help="feeds of integrations.yaml (default: all)")
    parser.add_argument(
        "--period", metavar="CODE|A..B", help="periods to replace, of feeds with load: replace_periods (2026-03)"
    )
    parser.add_argument(
        "--due", type=instant, metavar="ISO", help="slot of the schedule that this load answers; the daemon says it"
    )
    parser.set_defaults(imports_more=True)
    takes_instance(parser)


def instant(text: str) -> datetime:
    """Return an instant as it is written, in UTC where it names no offset."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Load some feeds, or all."""
    instance = read_instance(settings.instance)
    try:
        chosen = chosen_of(asked.binding, instance)
        periods = periods_of(asked.period, chosen, instance.catalogue.calendar) if asked.period else None
    except BadCommand as refused:
        err.print(str(refused), markup=False)
        return FAULTY
    interrupt_on_sigterm()
    with platform(settings) as opened:
        opened.start_database()
        from server.run.commands.loading import load_feeds  # noqa: PLC0415 - see that module

        end_imports()
        return load_feeds(instance, settings, opened, chosen, periods=periods, due_at=asked.due)


def chosen_of(keys: Sequence[str], instance: ServedInstance) -> list[Binding]:
    """Return the feeds of some keys, all where there is none; BadCommand where one does not exist."""
    unknown = [key for key in keys if key not in instance.bindings]
    if unknown:
        raise BadCommand(f"There is no feed {', '.join(unknown)}; known: {', '.join(instance.bindings)}")
    return [instance.bindings[key] for key in dict.fromkeys(keys or instance.bindings)]


def periods_of(text: str, chosen: Sequence[Binding], calendar: Calendar) -> PeriodRange:
    """Return the periods of CODE or A..B, as months where they are made of them; BadCommand where they mean none."""
    others = [binding.key for binding in chosen if binding.mode is not LoadMode.REPLACE_PERIODS]
    if others:
        able = [binding.key for binding in chosen if binding.key not in others]
        name = f"name {' '.join(able)} alone" if able else "leave it out"
        raise BadCommand(f"--period is for feeds with load: replace_periods, unlike {', '.join(others)}; {name}.")
    start, _, end = text.partition("..")
    try:
        first, last = (calendar.parse(code, "--period").code for code in (start, end or start))
        asked = calendar.range(first, last)
    except (BadPeriod, MixedGrains) as refusal:
        raise BadCommand(refusal.error) from refusal
    return calendar.within(asked, Grain.MONTH) or asked
