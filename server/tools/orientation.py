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
        "Ask in this order: search_hierarchy for the ids of members that a user names, then run_statement, or "
        "run_metric for what no statement has. list_scenarios has the grammar of comparisons; list_kpis is only for "
        "descriptions of metrics. Guess no name: these tools return all of them."
    )
    if FULL_PNL in reader.statements:
        yield (
            f"For a general P&L request use the statement {FULL_PNL}, unless the user or a report default chooses "
            "another."
        )
    yield "The _data variants return the same figures without the table that a widget may show."
    yield (
        "Give every scenario a short alias (Actuals, Budget, Variance). A blank figure (null) is not 0: it has "
        "no rows, or cannot be asked. Read the notes and freshness of a result before drawing conclusions: "
        "they say what is open, what repeats, and what was left out."
    )
    yield (
        "When data is late or in doubt, list_load_history tells how loads went, and list_bindings when feeds are due."
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
