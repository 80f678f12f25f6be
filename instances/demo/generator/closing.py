"""The balance sheet of every month's end: what the figures of the month make of the balances before it."""

from collections.abc import Iterator, Mapping, Sequence

from generator.company import Company, Entity
from generator.figures import PERSONNEL, SALES_OF_2024, MonthFigures

Balances = dict[str, int]  # section -> cents as stored: credit is negative
PAID_OUT, TO_OWNERS = 70, 58  # percent of a year's profit: to the holding, and from it to the owners
PAYS_OUT_IN = 6


def opening(entity: Entity) -> Balances:
    """Return the balances before the first month, in proportion to what the entity sells and spends."""
    sales, overhead = SALES_OF_2024 * entity.sales // 10, SALES_OF_2024 * entity.overhead // 10
    balances = {
        "COST": overhead * 42 // 100,
        "WRITTEN_OFF": -overhead * 20 // 100,
        "INVENTORIES": sales * 15 // 100,
        "RECEIVABLES": sales * 12 // 100,
        "OTHER_ASSETS": overhead * 2 // 100,
        "CASH": sales * 4 // 100 + overhead * (10 if sales else 40) // 100,
        "CAPITAL": -overhead * 10 // 100,
        "YEAR_RESULT": 0,
        "PROVISIONS": -overhead * 4 // 100,
        "LOANS": -entity.loans * 100,
        "PAYABLES": -sales * 8 // 100 - overhead // 100,
        "OTHER_DEBTS": -overhead * 3 // 100,
    }
    return {**balances, "RETAINED": -sum(balances.values())}


def towards(before: int, target: int) -> int:
    """Return a balance on its way to what a single month would make of it."""
    return (before * 2 + target) // 3


def closed(before: Balances, month: MonthFigures, entity: str, paid_out: int) -> Balances:
    """Return the balances of a month's end. Cash is what is left: assets and what funds them are equal."""
    sales = -month.of(entity, "REV_")
    goods, staff = month.of(entity, "COS_"), month.of(entity, *PERSONNEL)
    depreciation, result = month.sections[entity, "DEPRECIATION"], month.result(entity)
    new_year = month.month.month == 1
    balances = {
        "COST": before["COST"] + depreciation * 112 // 100,
        "WRITTEN_OFF": before["WRITTEN_OFF"] - depreciation,
        "INVENTORIES": towards(before["INVENTORIES"], goods * 29 // 10),
        "RECEIVABLES": towards(before["RECEIVABLES"], sales * 15 // 10),
        "OTHER_ASSETS": towards(before["OTHER_ASSETS"], sales * 16 // 100 + staff * 20 // 100),
        "CAPITAL": before["CAPITAL"],
        "RETAINED": before["RETAINED"] + (before["YEAR_RESULT"] if new_year else 0) + paid_out,
        "YEAR_RESULT": (0 if new_year else before["YEAR_RESULT"]) + result,
        "PROVISIONS": towards(before["PROVISIONS"], -staff * 29 // 10),
        "LOANS": before["LOANS"] * 994 // 1000,
        "PAYABLES": towards(before["PAYABLES"], -goods * 170 // 100),
        "OTHER_DEBTS": towards(before["OTHER_DEBTS"], -staff * 90 // 100 - sales * 18 // 100),
    }
    return {**balances, "CASH": -sum(balances.values())}


def payouts(last_year: Mapping[str, int], holding: str) -> dict[str, int]:
    """Return what each entity pays out of last year's profit, in cents; the holding receives, and pays the owners."""
    paid = {entity: max(0, -result) * PAID_OUT // 100 for entity, result in last_year.items() if entity != holding}
    owners = max(0, -sum(last_year.values())) * TO_OWNERS // 100
    return {**paid, holding: owners - sum(paid.values())}


def walk(
    company: Company, months: Sequence[MonthFigures], start: Mapping[str, Balances], last_year: Mapping[str, int]
) -> Iterator[Mapping[str, Balances]]:
    """Yield the balances of every entity at each month's end; `last_year` is the result that June pays out."""
    balances, earned, holding = start, last_year, company.entities[0].id
    for month in months:
        if month.month.month == 1:
            earned = {entity: before["YEAR_RESULT"] or last_year[entity] for entity, before in balances.items()}
        paid = payouts(earned, holding) if month.month.month == PAYS_OUT_IN else {}
        balances = {entity: closed(before, month, entity, paid.get(entity, 0)) for entity, before in balances.items()}
        yield balances


def all_balances(
    company: Company, figures: Mapping[str, list[MonthFigures]]
) -> Mapping[str, list[Mapping[str, Balances]]]:
    """Return the balances of every scenario by month; a plan starts each year from what the books held."""
    start = {entity.id: opening(entity) for entity in company.entities}
    earned = {entity.id: -SALES_OF_2024 * entity.sales * 6 // 1000 for entity in company.entities}
    actual = list(walk(company, figures["actual"], start, earned))
    before = [start, *actual]
    years = [figures["budget"][first : first + 12] for first in (0, 12, 24)]
    budget = [closing for year in years for closing in walk(company, year, before[year[0].month.number], earned)]
    planned_from = figures["forecast"][0].month.number
    forecast = list(walk(company, figures["forecast"], before[planned_from], earned))
    return {"actual": actual, "budget": budget, "forecast": forecast}
