"""Orientation: what the books hold and how to ask about them."""

from collections.abc import Iterator

from engine.books.reader import Reader
from engine.present.answers.orientation import orientation_answer
from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.examples import no_example
from server.tools.tool import Tool
from server.wire.answers import Answer

FULL_PNL = "full_pnl"
NOTHING = (
    "Nothing is visible to this caller: no profile that is assigned to them shows any data. Asking again does not "
    "help. Whoever runs this server assigns profiles in profiles.yaml; tieout check --subject says who sees what."
)


def svc_orientation(caller: Caller, _: EmptyRequest) -> Answer:
    """Say what these books hold and how to ask about them."""
    answer = orientation_answer(caller.reader, list(guidance(caller.reader)), caller.answer_tokens, caller.stop)
    return Answer(answer)


def guidance(reader: Reader) -> Iterator[str]:
    """Yield how to ask about the books with the tools, a paragraph each, or why there is nothing to ask about."""
    if not reader.scenarios:
        yield NOTHING
        return
    yield (
        "Ask in this order: search_hierarchy for the ids of members that a user names, then run_statement for a "
        "statement or run_metric for anything else. list_scenarios has the grammar of comparisons. list_kpis is only "
        "for descriptions: what a metric is, and which dimensions cut it. Every name is one that these tools return; "
        "nothing is guessed."
    )
    if FULL_PNL in reader.statements:
        yield (
            f"For a general P&L request use the statement {FULL_PNL}, when the user has chosen no other statement and "
            "no report default applies."
        )
    default = reader.catalogue.default.statement
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


ORIENTATION = (
    Tool(
        name="svc_orientation",
        title="Orientation",
        hint="what these books hold, fiscal year, how to ask",
        is_always_loaded=True,
        description="Call this first: what these books hold, their fiscal year, statements, and how to ask.",
        request=EmptyRequest,
        run=svc_orientation,
        example=no_example,
        is_memoised=True,
    ),
)
