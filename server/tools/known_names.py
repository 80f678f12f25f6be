"""Known names: whether a caller sees what an argument names, so that no refusal offers a name that is not there."""

from engine.books.reader import Reader
from engine.model.errors import Refusal
from engine.queries.references import resolve_reference

LAST_CLOSED = "last_closed"


def is_known(reader: Reader, name: str, value: object) -> bool:
    """Tell whether a caller may see all that the value of an argument names; True for arguments that name nothing."""
    match name:
        case "metrics" | "metric":
            return all(text in reader.metrics for text in texts_of(value))
        case "statement":
            return all(text in reader.statements for text in texts_of(value))
        case "dimension" | "dimensions" | "by":
            return all(text in reader.dimensions for text in texts_of(value))
        case "source_key":
            return all(text in reader.domains for text in texts_of(value))
        case "scenarios" | "scenario_id":
            return all(is_reference(text, reader) for text in texts_of(value))
        case "period_start" | "period_end":
            return all(is_period(text, reader) for text in texts_of(value))
    return True


def is_period(text: object, reader: Reader) -> bool:
    """Tell whether a text is, or is read as, a period."""
    return isinstance(text, str) and (text.startswith(LAST_CLOSED) or bool(reader.catalogue.calendar.reading(text)))


def texts_of(value: object) -> list[str]:
    """Return the names that a value consists of; of a column its scenario."""
    parts = value if isinstance(value, list) else [value]
    named = (part.get("scenario") if isinstance(part, dict) else part for part in parts)
    return [part if isinstance(part, str) else "" for part in named]  # nothing is called so


def is_reference(text: object, reader: Reader) -> bool:
    """Tell whether a text is a reference to scenarios that are there."""
    try:
        return isinstance(text, str) and resolve_reference(text, "scenario", reader) is not None
    except Refusal:
        return False
