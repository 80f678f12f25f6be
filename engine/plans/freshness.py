"""Freshness: how far the figures of a plan are loaded, inside what the caller may see."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from engine.catalogue import Domain
from engine.plans.figures import FigurePlan
from engine.plans.presences import Presences
from engine.plans.view import View
from engine.plans.windows import Window
from engine.reader import Reader
from engine.scenarios import Part, Portion


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far a scenario of a domain is loaded, inside what the caller may see."""

    through: str | None  # last period with rows, at the domain's grain
    loaded_at: str | None
    load_id: str | None
    open: str | None  # the open periods of the range, as a code or START..END
    undated: int | None  # rows without a date, where the domain keeps them


def freshness(plan: FigurePlan) -> dict[str, dict[str, Freshness]]:
    """Return the freshness of every domain and base scenario that a plan reads."""
    windows: dict[str, list[Window]] = defaultdict(list)
    for reading in (reading for column in plan.columns for reading in column):
        for part in reading.side.parts:
            windows[part.scenario.id].append(reading.windows[-1])
    return {
        domain.key: {
            scenario: freshness_of(plan, domain, scenario, read)
            for scenario, read in windows.items()
            if not plan.reader.cell(scenario, domain.key).is_nothing
        }
        for domain in plan.query.domains
    }


def loaded_through(reader: Reader, domain: Domain) -> dict[str, str]:
    """Return the last period of a domain that holds rows, for each scenario that has any, at the domain's grain."""
    codes = {}
    for scenario in reader.scenarios.values():
        through = Presences(reader).of(View(domain.key, (Portion(Part(scenario)),))).through()
        if through is not None:
            codes[scenario.id] = reader.catalogue.calendar.code_at(through, domain.grain)
    return codes


def freshness_of(plan: FigurePlan, domain: Domain, scenario: str, windows: Sequence[Window]) -> Freshness:
    """Return the freshness of one scenario of a domain, in the windows read of it."""
    calendar = plan.reader.catalogue.calendar
    view = View(domain.key, (Portion(Part(plan.reader.catalogue.scenarios[scenario])),))
    presence = plan.presences.of(view)
    through, loaded = presence.through(), plan.reader.loaded(domain.key, scenario)
    opened = [span for window in windows if (span := plan.presences.open_span(view, window))]
    codes = ""
    if opened:
        bounds = (min(span.first for span in opened), max(span.last for span in opened))
        first, last = (calendar.code_at(day, plan.query.asked.grain) for day in bounds)
        codes = first if first == last else f"{first}..{last}"
    return Freshness(
        through=None if through is None else calendar.code_at(through, domain.grain),
        loaded_at=loaded.at.isoformat(timespec="seconds") if loaded else None,
        load_id=loaded.load if loaded else None,
        open=codes or None,
        undated=presence.undated() if domain.keeps_undated else None,
    )
