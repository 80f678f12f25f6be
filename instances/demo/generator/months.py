"""Months and scenarios: when the books run, and what makes each scenario differ from the plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

FIRST_YEAR = 2024
SEASON = (0.90, 0.93, 1.05, 0.98, 1.00, 1.06, 0.97, 0.86, 1.06, 1.07, 1.08, 1.04)
HOLIDAYS = {(1, 1), (5, 1), (12, 25), (12, 26)}


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month, counted from January of the first year."""

    number: int

    @property
    def year(self) -> int:
        """The calendar year."""
        return FIRST_YEAR + self.number // 12

    @property
    def month(self) -> int:
        """The month of the year, from 1."""
        return self.number % 12 + 1

    @property
    def code(self) -> str:
        """The month as text."""
        return f"{self.year}-{self.month:02}"

    @property
    def last_day(self) -> date:
        """The day its balances carry."""
        return date(self.year + self.month // 12, self.month % 12 + 1, 1) - timedelta(days=1)

    @property
    def working_days(self) -> list[date]:
        """The days that postings carry."""
        days = (self.last_day.replace(day=day) for day in range(1, self.last_day.day + 1))
        return [day for day in days if day.weekday() < 5 and (day.month, day.day) not in HOLIDAYS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to sales, from one month on; what was unknown in June 2026 is in no forecast."""

    since: int
    factor: float
    entity: str | None = None
    line: str | None = None


EVENTS = (
    Event(since=9, factor=0.94, entity="SG01"),  # a slow market in Asia
    Event(since=12, factor=1.06, entity="DE02", line="SERVICE"),  # more maintenance contracts
    Event(since=20, factor=1.09, entity="US01"),  # two utilities won
    Event(since=26, factor=0.88, entity="FR01"),  # a distributor lost
    Event(since=31, factor=0.95, line="CONTROLS"),  # chips on allocation
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScenario:
    """One scenario: its months, and what makes it differ from the plan; 1 is the plan itself."""

    key: str
    first: int
    last: int
    noise: float
    known_until: int  # events since this month or earlier count
    sales: Mapping[int, float]  # by year
    materials: Mapping[int, float]
    costs: float
    staff: float
    text: str | None = None  # what its postings say, where they are no vouchers

    @property
    def months(self) -> list[Month]:
        """Its months."""
        return [Month(number) for number in range(self.first, self.last + 1)]


AS_PLANNED = {2024: 1.0, 2025: 1.0, 2026: 1.0}
SCENARIOS = (
    PlanScenario(
        key="actual",
        first=0,
        last=33,
        noise=1.0,
        known_until=35,
        sales={2024: 1.012, 2025: 0.988, 2026: 0.981},
        materials={2024: 1.006, 2025: 1.028, 2026: 1.012},
        costs=0.99,
        staff=0.985,
    ),
    PlanScenario(
        key="budget",
        first=0,
        last=35,
        noise=0.0,
        known_until=-1,
        sales=AS_PLANNED,
        materials=AS_PLANNED,
        costs=1.0,
        staff=1.0,
        text="Budget",
    ),
    PlanScenario(
        key="forecast",
        first=30,
        last=35,
        noise=0.25,
        known_until=29,
        sales={2026: 0.985},
        materials={2026: 1.01},
        costs=0.985,
        staff=0.99,
        text="Forecast of June",
    ),
)
