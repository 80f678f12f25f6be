"""tieout freeze: keep a scenario as it stands under a name, such as `actual#sep`; list freezes, and give them up."""

import argparse
from collections.abc import Iterator, Mapping
from datetime import UTC, date

from engine.model.calendar.calendar import Calendar
from engine.model.errors import BadPeriod, closest, guess
from engine.model.freezes import NAME, NAME_WORDS, Freeze, freeze_id
from engine.model.scenarios import FROZEN, Scenario
from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.ingest.freezes import FreezeRefused, MadeFreeze, damage_of, drop_freeze, freezes_in, make_freeze
from server.run.commands.console import DONE, FAULTY, err, out, takes_instance

DEFAULT = "actual"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the freeze, such as sep; it is read as actual#sep")
    parser.add_argument("--scenario", metavar="ID", help=f"what to freeze, or whose freeze (default: {DEFAULT})")
    parser.add_argument("--through", metavar="CODE", help="last period, such as 2026-09: later rows are left out")
    parser.add_argument("--list", action="store_true", help="list the freezes")
    parser.add_argument("--drop", metavar="NAME", help="give a freeze up: sep, or actual#sep")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Freeze a scenario, list the freezes, or give one up."""
    instance = read_instance(settings.instance)
    place = BooksFolder(
        catalogue=instance.catalogue,
        folder=settings.instance,
        state=settings.state_folder,
        placement=instance.placement,
    )
    try:
        for line in lines_of(place, asked):
            out.print(line, markup=False)
    except FreezeRefused as refused:
        err.print(str(refused), markup=False)
        return FAULTY
    return DONE


def lines_of(place: BooksFolder, asked: argparse.Namespace) -> Iterator[str]:
    """Return what the command says, line by line, as it does it. Raises FreezeRefused."""
    if sum([asked.name is not None, asked.list, asked.drop is not None]) != 1:
        raise FreezeRefused("Give a NAME to freeze, such as tieout freeze sep; or --list; or --drop NAME.")
    if asked.list:
        return list_lines(place)
    return freeze(place, asked) if asked.drop is None else drop(place, asked.drop, asked.scenario)


def freeze(place: BooksFolder, asked: argparse.Namespace) -> Iterator[str]:
    """Freeze a scenario; yield what the freeze holds, and which of its days may still be open."""
    scenario = scenario_of(asked.scenario, place.catalogue.scenarios)
    if NAME.fullmatch(asked.name) is None:
        raise FreezeRefused(f"'{asked.name}' is no name of a freeze: take {NAME_WORDS}, such as sep or 2026-09.")
    through = None if asked.through is None else day_of(asked.through, place.catalogue.calendar)
    result = make_freeze(place, scenario, asked.name, through)
    new = result.freeze
    until = f" through {new.through}" if new.through else ""
    yield (
        f"{new.id}: {new.rows:,} rows of {', '.join(result.last_days)}{until}, of version {new.version} of the books. "
        f"From their next call on, reports read it as {new.id}."
    )
    yield from open_days(result, scenario)


def open_days(result: MadeFreeze, scenario: Scenario) -> Iterator[str]:
    """Yield the domains of which a freeze has rows after the last closed day."""
    for domain, last in result.last_days.items():
        closed = scenario.open_after(domain)
        if last is not None and closed is None:
            yield f"{scenario.id} of {domain} has no closed_through, so any of its days may have been open."
        elif last is not None and closed is not None and last > closed:
            yield (
                f"{scenario.id} of {domain} is closed through {closed} and has rows through {last}, which may have "
                "been open. To leave them out, drop the freeze and make it again with --through."
            )


def scenario_of(asked: str | None, scenarios: Mapping[str, Scenario]) -> Scenario:
    """Return the scenario of an id, by default DEFAULT or the only one. Raises FreezeRefused if there is none."""
    if asked is None and DEFAULT not in scenarios and len(scenarios) > 1:
        raise FreezeRefused(f"Name the scenario to freeze with --scenario: {', '.join(scenarios)}.")
    name = asked or (DEFAULT if DEFAULT in scenarios else next(iter(scenarios)))
    if FROZEN in name:
        raise FreezeRefused(f"{name} names a freeze, which never changes. Freeze {name.partition(FROZEN)[0]} itself.")
    if name not in scenarios:
        close = guess(closest(name, list(scenarios)))
        raise FreezeRefused(f"There is no scenario {name}; known: {', '.join(scenarios)}.{close}")
    return scenarios[name]


def day_of(text: str, calendar: Calendar) -> date:
    """Return the last day of a period. Raises FreezeRefused if the text names none."""
    try:
        return calendar.parse(text, "--through").last
    except BadPeriod as refusal:
        raise FreezeRefused(refusal.error) from refusal


def drop(place: BooksFolder, name: str, scenario: str | None) -> Iterator[str]:
    """Give up the freeze of a name or id."""
    freezes = freezes_in(place)
    ids = [key for key, known in freezes.items() if name in (key, known.name) and scenario in (None, known.base)]
    if len(ids) > 1:
        raise FreezeRefused(f"Several freezes have the name {name}: say {' or '.join(sorted(ids))}.")
    if not ids:
        wanted = name if FROZEN in name or scenario is None else freeze_id(scenario, name)
        choices = f"known: {', '.join(sorted(freezes))}" if freezes else "there are none"
        raise FreezeRefused(f"There is no freeze {wanted}; {choices}.")
    drop_freeze(place, ids[0])
    yield f"{ids[0]} is given up. Reports that read it end as they would; later ones do not know it."


def list_lines(place: BooksFolder) -> Iterator[str]:
    """Yield a line for each freeze, the newest first."""
    freezes = sorted(freezes_in(place).values(), key=lambda known: known.frozen_at, reverse=True)
    for known in freezes:
        yield line_of(known)
        if damage := damage_of(place, known):
            yield f"  {damage}"
        if known.base not in place.catalogue.scenarios:
            yield f"  scenarios.yaml has no {known.base} any more, so no report reads it"
    if not freezes:
        yield "There is no freeze. tieout freeze NAME makes one."


def line_of(known: Freeze) -> str:
    """Return what a freeze is in a line."""
    until = f", rows through {known.through}" if known.through else ""
    at = f"{known.frozen_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{known.id}: frozen {at}, {known.rows:,} rows, version {known.version} of the books{until}"
