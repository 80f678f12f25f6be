"""The figures of a scenario: what each section of each entity comes to in each month, in cents, before any row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from generator.chart import Section
from generator.company import Centre, Company, Entity
from generator.months import EVENTS, SEASON, Month, PlanScenario

SALES_OF_2024 = 450_000_000  # EUR; costs that do not follow sales are a permille of it, and rise with prices
GROWTH, INFLATION = 1.0052, 1.0024  # of a month
RAISE, HIRING = 1.032, 1.016  # of a year
SOCIAL, INTEREST, TAX = 0.213, 0.048, 0.26
COMMERCIAL_SEASON = {3: 1.5, 9: 1.5, 11: 1.2}  # trade fairs
PERSONNEL = WAGES, ONCOSTS = ("WAGES", "ONCOSTS")
FOLLOWS_SALES = {"COS_OTHER", "DISTRIBUTION"}
DRIFT = {"IT": 1.07, "TRAVEL": 0.9, "FACILITIES": 1.02, "MARKETING": 0.96, "ADVICE": 1.05}  # of what happens


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthFigures:
    """One month of one scenario, in cents as stored: credit is negative."""

    scenario: PlanScenario
    month: Month
    sections: dict[tuple[str, str], int] = field(default_factory=dict)  # (entity, section)
    staff: dict[str, int] = field(default_factory=dict)  # cost centre -> hundredths of a full-time post
    personnel: dict[tuple[str, str], int] = field(default_factory=dict)  # (cost centre, section)

    def of(self, entity: str, *prefixes: str) -> int:
        """Return the sum of an entity's sections whose names start so."""
        return sum(
            cents for (owner, key), cents in self.sections.items() if owner == entity and key.startswith(prefixes)
        )

    def result(self, entity: str) -> int:
        """Return the net result of an entity; a profit is negative, a credit."""
        return sum(
            cents for (owner, key), cents in self.sections.items() if owner == entity and not key.startswith("ORD_")
        )


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Works out the figures of one scenario, month by month."""

    company: Company
    sections: tuple[Section, ...]
    scenario: PlanScenario
    rng: Random

    def figures(self) -> Iterator[MonthFigures]:
        """Yield every month of the scenario."""
        for month in self.scenario.months:
            figures = MonthFigures(scenario=self.scenario, month=month)
            self.people(figures)
            common = self.noise(0.015)
            for entity in self.company.entities:
                self.trade(figures, entity, common)
                self.cost(figures, entity)
                profit = -figures.result(entity.id)
                figures.sections[entity.id, "TAXES"] = round(profit * TAX)
            yield figures

    def noise(self, most: float) -> float:
        """Return a factor near 1; a planned scenario has less of it."""
        return 1 + most * self.scenario.noise * (self.rng.random() + self.rng.random() - 1)

    def trade(self, figures: MonthFigures, entity: Entity, common: float) -> None:
        """Work out sales, what they cost and what was ordered."""
        sections, total = figures.sections, 0
        for line in self.company.lines if entity.sales else ():
            sales = SALES_OF_2024 / 12 * entity.sales / 1000 * entity.mix[line.key]
            sales *= GROWTH**figures.month.number / GROWTH**6 * SEASON[figures.month.month - 1]
            sales *= (
                self.scenario.sales[figures.month.year]
                * common
                * self.noise(0.06)
                * self.happened(figures, entity.id, line.key)
            )
            materials = line.materials / 1000 * self.scenario.materials[figures.month.year] * self.noise(0.025)
            sections[entity.id, f"REV_{line.key}"] = -round(100 * sales)
            sections[entity.id, f"COS_{line.key}"] = round(100 * sales * materials)
            sections[entity.id, f"ORD_{line.key}"] = -round(100 * sales * 1.02 * self.noise(0.12))
            total += round(100 * sales)
        for section in self.sections:
            if section.node in FOLLOWS_SALES and total:
                sections[entity.id, section.node] = round(total * section.permille / 1000 * self.noise(0.06))

    def happened(self, figures: MonthFigures, entity: str, line: str) -> float:
        """Return what events make of the sales of an entity and a line."""
        factor = 1.0
        for event in EVENTS:
            if event.since <= min(figures.month.number, self.scenario.known_until):
                factor *= event.factor if event.entity in (None, entity) and event.line in (None, line) else 1
        return factor

    def cost(self, figures: MonthFigures, entity: Entity) -> None:
        """Work out wages, overhead and interest."""
        own = [centre.id for centre in self.company.centres if centre.entity == entity.id]
        for key in PERSONNEL:
            figures.sections[entity.id, key] = sum(figures.personnel[centre, key] for centre in own)
        base = 100 * SALES_OF_2024 / 12 * entity.overhead / 1000 * INFLATION**figures.month.number
        for section in self.sections:
            if section.permille and section.node not in FOLLOWS_SALES:
                steady = section.node == "DEPRECIATION"
                season = COMMERCIAL_SEASON.get(figures.month.month, 0.87) if section.node == "MARKETING" else 1
                drift = DRIFT.get(section.node, 1) if self.scenario.noise else 1
                amount = base * section.permille / 1000 * season * self.scenario.costs * drift
                amount *= self.noise(0.01 if steady else 0.12)
                figures.sections[entity.id, section.node] = section.sign * round(amount)
        interest = 100 * entity.loans * INTEREST / 12 * 0.994**figures.month.number
        figures.sections[entity.id, "FIN_EXPENSE"] = round(interest * self.noise(0.05))

    def people(self, figures: MonthFigures) -> None:
        """Work out posts and wages of every cost centre; posts change by the quarter and by quarters of a post."""
        years = figures.month.number // 3 / 4
        raises = (figures.month.number + 9) // 12  # each April
        for centre in self.company.centres:
            posts = centre.posts * HIRING**years * self.scenario.staff * self.vacancy(figures.month, centre)
            figures.staff[centre.id] = max(1, round(4 * posts)) * 25
            pay = centre.pay * RAISE**raises * self.noise(0.02)
            wages = round(figures.staff[centre.id] * pay)
            figures.personnel[centre.id, WAGES] = wages
            figures.personnel[centre.id, ONCOSTS] = round(wages * SOCIAL * self.noise(0.03))

    def vacancy(self, month: Month, centre: Centre) -> float:
        """Return how many of a cost centre's posts are taken this quarter."""
        rng = Random(f"{centre.id} {centre.posts} {month.number // 3}")
        return 1 + 0.06 * self.scenario.noise * (rng.random() - 0.5)


def all_figures(
    company: Company, sections: tuple[Section, ...], scenarios: tuple[PlanScenario, ...], seed: int
) -> Mapping[str, list[MonthFigures]]:
    """Return the figures of every scenario."""
    return {
        scenario.key: list(Forecaster(company, sections, scenario, Random(f"{seed} {scenario.key}")).figures())
        for scenario in scenarios
    }
