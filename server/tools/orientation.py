"""Orientation: what the books hold and how to ask about them."""

from collections.abc import Iterator

from engine.books.reader import Reader
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Catalogue
from engine.model.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.tool import Tool
from server.wire.answers import Answer, Json, Left, axes_of, fitted, listed

FULL_PNL = "full_pnl"
OTHER_STATEMENTS = (
    "The deployment's own prose is cut at its end. A statement works by its key alone; run_statement answers a key "
    "that it does not know with the closest that exist. list_kpis lists the domains."
)


def svc_orientation(caller: Caller, _: EmptyRequest) -> Answer:
    """Say what these books hold and how to ask about them."""
    reader = caller.reader
    catalogue = reader.catalogue
    own = (catalogue.orientation or "").strip()
    statements = [{"key": key, "label": statement.label} for key, statement in reader.statements.items()]
    domains = [{"key": key, "label": domain.label} for key, domain in reader.domains.items()]

    def build(left: Left) -> Json:
        return {
            "orientation": "\n\n".join(paragraphs(reader, own[: len(own) - left["prose_characters"]])),
            "name": catalogue.name,
            "currency": catalogue.currency,
            **listed("statement", statements, "key", left),
            **listed("domain", domains, "key", left),
            "catalogue_version": catalogue.version,
            "data_version": reader.data_version,
        }

    beyond = max(0, len(own) - caller.answer_tokens)  # the rest is less than half of the budget
    axes = {"prose_characters": beyond, **axes_of(domain=domains, statement=statements)}
    return Answer(fitted(build, axes, caller.answer_tokens, OTHER_STATEMENTS))


def paragraphs(reader: Reader, own: str) -> Iterator[str]:
    """Yield the orientation: the deployment's own prose, then what its catalogue says."""
    catalogue = reader.catalogue
    yield f"# {catalogue.name}"
    if own:
        yield own
    yield fiscal_words(catalogue)
    yield (
        "Ask in this order: list_scenarios for what can be compared, list_kpis for metrics and the dimensions that cut "
        "them, search_hierarchy for member ids, then run_statement for a statement or run_metric for anything else. "
        "Every name is one that these tools return; nothing is guessed."
    )
    if FULL_PNL in reader.statements:
        yield (
            f"For a general P&L request use the statement {FULL_PNL}, when the user has chosen no other statement and "
            "no report default applies."
        )
    default = catalogue.default.statement
    if default in reader.statements:
        yield f"When no statement is named, {default} is shown."
    yield (
        "run_statement and run_metric come with a formatted table that a widget may show; run_statement_data and "
        "run_metric_data return the same figures without it. When a widget shows the table, add interpretation and do "
        "not copy it into Markdown unless asked, or unless no widget is available."
    )
    yield (
        "Give every scenario a short alias (Actuals, Budget, Variance); it is the heading. A blank figure (null) was "
        "not seen or cannot be asked, a 0 was. Read the notes and the freshness of each result before drawing "
        "conclusions: they say which periods are open, which lines repeat an aggregate, and what was left out."
    )
    yield (
        "When data is late or in doubt: list_load_history and get_load_status tell how loads went, list_bindings and "
        "get_binding which feeds there are and when they are due."
    )


def fiscal_words(catalogue: Catalogue) -> str:
    """Return the definition of fiscal years and quarters in words."""
    calendar = catalogue.calendar
    year = calendar.parse(calendar.grains[Grain.YEAR].example)
    parts = [calendar.at(year.first, grain) for grain in (Grain.YEAR, Grain.QUARTER, Grain.MONTH)]
    examples = ", ".join(f"{part.code} is {part.label}" for part in parts if part)
    return (
        f"Amounts are in {catalogue.currency}. A period is {calendar.codes}: {examples}. Both bounds of a range have "
        "the same grain."
    )


ORIENTATION = (
    Tool(
        name="svc_orientation",
        title="Orientation",
        description="Call this first: what these books hold, their fiscal year, statements, and how to ask.",
        request=EmptyRequest,
        run=svc_orientation,
        example={},
    ),
)
