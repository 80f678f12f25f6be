"""Parts that results have in common."""

from engine.answers.budget import Json
from engine.calendar.periods import PeriodRange


def period_json(period: PeriodRange) -> Json:
    """Return a range: its codes, its days and its name."""
    return {
        "start": period.start.code,
        "end": period.end.code,
        "grain": period.grain.value,
        "first_day": period.span.first.isoformat(),
        "last_day": period.span.last.isoformat(),
        "label": period.label,
    }
