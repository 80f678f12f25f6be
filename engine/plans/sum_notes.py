"""Notes on sums and names that mislead."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from engine.model.calendar.periods import Grain
from engine.model.errors import quoted
from engine.model.notes import NAMED, Note
from engine.model.scenarios import ALL_DAYS
from engine.plans.figures import ColumnRead, FigurePlan

FINER = (Grain.DATE, Grain.WEEK)  # grains finer than a month


def sum_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on sums and names that mislead."""
    yield from sign_notes(plan)
    for column_read in dict.fromkeys(column_read for column in plan.columns for column_read in column):
        yield from posting_notes(plan, column_read)


def sign_notes(plan: FigurePlan) -> Iterator[Note]:
    """Yield the notes on lines that show a metric with the other sign."""
    lines: dict[str, list[str]] = defaultdict(list)
    for row in plan.rows:
        if row.reverses:
            lines[row.reverses].append(row.key)
    for metric, keys in lines.items():
        yield Note.of("sign_reversed", lines=quoted(keys, NAMED), metric=metric)


def posting_notes(plan: FigurePlan, column_read: ColumnRead) -> Iterator[Note]:
    """Yield the notes on weeks or days of data that is posted on one day of each month."""
    grains = (plan.query.asked.grain, *((plan.query.time.grain,) if plan.query.time else ()))
    finest = min(grains, key=lambda grain: grain.fineness)
    for domain in plan.query.domains if finest in FINER else ():
        days = plan.presences.of(column_read.domain_read(domain.key)).days(ALL_DAYS)
        months = Counter((day.year, day.month) for day in days)
        if domain.carries(finest) and len(months) > 1 and set(months.values()) == {1}:
            yield Note.of(
                "coarser_postings",
                scenario="+".join(term.key for term in column_read.side.terms),
                domain=domain.key,
                grain=plan.reader.catalogue.calendar.grains[finest].noun,
            )
