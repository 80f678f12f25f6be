"""Writes docs/agents.md: questions that people ask, the calls that answer them on the demo books, and the answers.

The figures of an answer are read from what the calls return, so that the page says what the service says.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.books import demo_books
from scripts.tools_page import LEFT_OUT, block, masked, shortened
from tests.support.books.demo import ROWS
from tests.support.service.servers import Called, connected, serving

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
HEAD = """# Worked conversations

Eight questions that people ask of their books, each with the calls that a model makes on the demo, the tokens (o200k)
that it reads of each answer, and what it can say then. `…` stands for what this page leaves out of a long answer.
`make docs` writes this page from a server of the demo, figures included.

The prompts `month_end_review`, `variance_commentary`, `tie_out` and `board_summary` lead a model along such paths;
[connecting clients](connect.md) says where hosts show them.
"""
Json = Mapping[str, Any]
Told = Sequence[Json]  # the answers of the calls before
Ask = Callable[[str, Json], Called]  # a tool and its arguments to its answer
REFERENCE = "ds_k7q2m4x6w3n5z2r7t4y6u3v5b2c7d4f6"  # is as long as any other
SEPTEMBER = {"period_start": "2026-01", "period_end": "2026-09"}
AGAINST_BUDGET = [
    {"scenario": "actual", "alias": "Actuals"},
    {"scenario": "budget", "alias": "Budget"},
    {"scenario": "var(actual,budget)", "alias": "Variance"},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCall:
    """A call of a tool: its arguments, made of the answers before, and why it is made."""

    why: str
    tool: str
    arguments: Callable[[Told], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A question, the calls, and the answer that they give."""

    question: str
    calls: Sequence[PageCall]
    answer: Callable[[Told], str]


def fixed(**arguments: Any) -> Callable[[Told], Json]:  # noqa: ANN401 - any JSON
    """Return arguments that need no answer before."""
    return lambda _: arguments


def money(figure: float | str) -> str:
    """Return an amount as people read it."""
    return f"{float(figure):,.2f}"


def signed(figure: float | str) -> str:
    """Return an amount with its sign."""
    return f"{float(figure):+,.2f}"


def largest(told: Json, at: int = 0) -> Json:
    """Return the first row of a list of an explanation."""
    row: Json = told["lists"][at]["rows"][0]
    return row


def why_below_budget(told: Told) -> str:
    """Answer the first question."""
    whole, within, rows = told
    line, member, account = largest(whole), largest(whole, 1), largest(within)
    return (
        f"EBITDA of January to September 2026 is EUR {money(whole['a'])} against a budget of {money(whole['b'])}: "
        f"{signed(whole['variance'])}. By line, {line['label']} contributes most, {signed(line['contribution'])}; by "
        f"organisation, {member['label']}, {signed(member['contribution'])}. Of {within['label']}, which is "
        f"{signed(within['variance'])} in all, {account['label']} makes {signed(account['contribution'])}. All of its "
        f"postings, the shown and the others, add up to {money(rows['contribution_total'])}, "
        f"{'as its actuals do' if float(account['a']) == float(rows['contribution_total']) else 'unlike its actuals'}."
    )


def ten_largest(told: Told) -> str:
    """Answer who the largest customers are."""
    (ranked,) = told
    rows = [row for row in ranked["rows"] if row.get("key")]
    first, others, total = rows[0], rows[-1], ranked["rows"][-1]
    share = 100 * sum(float(row["values"][0]) for row in rows[:-1]) / float(total["values"][0])
    return (
        f"The largest of them is {first['label']} with EUR {money(first['values'][0])}. Ten customers make "
        f"{share:.1f} % of EUR {money(total['values'][0])}; the other {others['holds']:,} make "
        f"{money(others['values'][0])}."
    )


def ties_out(told: Told) -> str:
    """Answer whether a figure ties to its rows."""
    report, rows = told
    figure = report["rows"][0]["values"][0]
    is_equal = float(figure) == float(rows["contribution_total"])
    return (
        f"Revenue of August 2026 is EUR {money(figure)}. All of its postings, the shown and the others, make "
        f"{money(rows['contribution_total'])}: it {'ties out' if is_equal else 'does not tie out'} to the last cent. "
        f"The ledger is loaded through {next(iter(report['freshness'].values()))['actual']}."
    )


def drawn(told: Told) -> str:
    """Answer with a picture."""
    _, chart = told
    return f"{chart['summary']} The picture shows it."


def not_there(told: Told) -> str:
    """Answer a question about what the books do not have."""
    listed, refused = told
    assert not listed["domains"]  # noqa: S101 - the page would say what is not true
    return (
        "These books hold no churn: no metric is called so, and the service refuses the name "
        f"(`{refused['error_type']}`) instead of guessing. The nearest that they hold is sales by customer; customers "
        "who stop buying can be counted from it, if that is what you mean."
    )


def for_the_board(told: Told) -> str:
    """Answer with a statement and its file."""
    statement, file = told
    values = {row["key"]: row["values"] for row in statement["rows"] if "values" in row}
    revenue, result = values["revenue"], values["operating_result"]
    return (
        f"In the first half of 2026 revenue is EUR {money(revenue[0])}, {signed(revenue[2])} against budget; the "
        f"operating result is {money(result[0])}, {signed(result[2])}. The statement is attached as {file['name']}."
    )


def cash_now(told: Told) -> str:
    """Answer how much cash there is."""
    (report,) = told
    values = [(row.get("label", row["key"]), row["values"][0]) for row in report["rows"] if row.get("key")]
    first, last = values[0], values[-1]
    return (
        f"Cash is EUR {money(last[1])} at the end of {last[0]}, after {money(first[1])} at the end of {first[0]}. A "
        "balance is not added up over months: the total of the range is its last closing."
    )


def price_or_volume(told: Told) -> str:
    """Answer what price and volume did."""
    (found,) = told
    rows = found["lists"][0]["rows"]
    volume = next(row for row in rows if row["key"] == "(volume)")
    parts = [row for row in rows if row["key"] != "(volume)"]
    mix, price = (sum(float(row.get(name, 0)) for row in parts) for name in ("mix", "price"))
    return (
        f"Sales are {signed(found['variance'])} against the year before: {signed(volume['contribution'])} by volume, "
        f"{signed(mix)} by the mix of product lines and {signed(price)} by price. The three add up to the variance "
        "without a remainder."
    )


CONVERSATIONS = (
    Conversation(
        question="Why is EBITDA below budget this year, down to the postings?",
        calls=(
            PageCall(
                why="The variance by the operands of its formula and by organisation, in one call.",
                tool="explain_variance",
                arguments=fixed(
                    metric="ebitda", scenarios=["actual", "budget"], by=["lines", "organisation"], top=3, **SEPTEMBER
                ),
            ),
            PageCall(
                why="The line that contributes most, by account class.",
                tool="explain_variance",
                arguments=lambda told: {
                    "metric": largest(told[0])["key"],
                    "scenarios": ["actual", "budget"],
                    "by": ["account"],
                    "top": 3,
                    **SEPTEMBER,
                },
            ),
            PageCall(
                why="The rows behind its largest account, as `drill` says.",
                tool="inspect_rows",
                arguments=lambda told: {
                    "source_key": "gl",
                    "scenario_id": "actual",
                    "filters": {"metric": largest(told[0])["key"], "account": largest(told[1])["key"]},
                    "limit": 3,
                    **SEPTEMBER,
                },
            ),
        ),
        answer=why_below_budget,
    ),
    Conversation(
        question="Who are our ten largest customers this year?",
        calls=(
            PageCall(
                why="One call ranks them, and one row holds the rest.",
                tool="run_metric",
                arguments=fixed(
                    metrics=["sales_amount"],
                    scenarios=AGAINST_BUDGET[:1],
                    dimensions=["customer"],
                    top=10,
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=ten_largest,
    ),
    Conversation(
        question="Does the revenue of August tie to the ledger?",
        calls=(
            PageCall(
                why="The figure.",
                tool="run_metric",
                arguments=fixed(metrics=["revenue"], scenarios=AGAINST_BUDGET[:1], period_start="2026-08"),
            ),
            PageCall(
                why="Its rows; `contribution_total` is what all of them make, also those that are not shown.",
                tool="inspect_rows",
                arguments=fixed(
                    source_key="gl",
                    scenario_id="actual",
                    filters={"metric": "revenue"},
                    limit=3,
                    period_start="2026-08",
                ),
            ),
        ),
        answer=ties_out,
    ),
    Conversation(
        question="Draw revenue by month against budget.",
        calls=(
            PageCall(
                why="The figures, kept under a reference.",
                tool="run_metric",
                arguments=fixed(metrics=["revenue"], scenarios=AGAINST_BUDGET[:2], dimensions=["month"], **SEPTEMBER),
            ),
            PageCall(
                why="The picture, made of the kept figures; the host shows it beside the text.",
                tool="eval_chart_transform",
                arguments=lambda told: {
                    "data_refs": [told[0]["data_ref"]],
                    "chart_spec": {"chart_type": "line", "title": "Revenue by month"},
                    "picture": True,
                },
            ),
        ),
        answer=drawn,
    ),
    Conversation(
        question="What is our customer churn?",
        calls=(
            PageCall(why="A metric of that name is sought.", tool="list_kpis", arguments=fixed(query="churn")),
            PageCall(
                why="A name that does not exist is refused, with what would be valid.",
                tool="run_metric",
                arguments=fixed(metrics=["churn"]),
            ),
        ),
        answer=not_there,
    ),
    Conversation(
        question="Sum up the first half for the board, with the file.",
        calls=(
            PageCall(
                why="The statement against budget.",
                tool="run_statement",
                arguments=fixed(
                    statement="pnl", scenarios=AGAINST_BUDGET, period_start="2026-Q1", period_end="2026-Q2"
                ),
            ),
            PageCall(
                why="The same as a workbook.",
                tool="export_dataset",
                arguments=lambda told: {"data_ref": told[0]["data_ref"], "format": "xlsx"},
            ),
        ),
        answer=for_the_board,
    ),
    Conversation(
        question="How much cash do we have, and how has it moved?",
        calls=(
            PageCall(
                why="Closing balances by month.",
                tool="run_metric",
                arguments=fixed(metrics=["cash"], scenarios=AGAINST_BUDGET[:1], dimensions=["month"], **SEPTEMBER),
            ),
        ),
        answer=cash_now,
    ),
    Conversation(
        question="Did sales grow by price or by volume?",
        calls=(
            PageCall(
                why="The demo declares units as the volume of sales.",
                tool="explain_variance",
                arguments=fixed(
                    metric="sales_amount",
                    scenarios=["actual", "actual@py"],
                    by=["product_line"],
                    drivers=True,
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=price_or_volume,
    ),
)


def page(ask: Ask) -> str:
    """Return the page, of a server of the demo."""
    return "\n".join([HEAD, *("\n".join(section(conversation, ask)) for conversation in CONVERSATIONS)])


def section(conversation: Conversation, ask: Ask) -> Iterator[str]:
    """Yield the lines of one conversation."""
    told: list[Json] = []
    yield f"## {conversation.question}\n"
    for call in conversation.calls:
        arguments = call.arguments(told)
        called = ask(call.tool, arguments)
        told.append(called.result)
        yield f"{call.why} `{call.tool}`:\n"
        yield from block(masked(arguments))
        yield f"{tokens(told[-1]):,} tokens:\n"
        yield from block(shortened(masked(told[-1])))
        yield from ("And image content: the chart as a PNG.\n" for _ in called.pictures)
    yield f"> {conversation.answer(told)}\n"


def tokens(answer: Json) -> int:
    """Return about how many o200k tokens an answer has, to the next ten, whatever its references are."""
    from bpe_openai import get_encoding  # noqa: PLC0415 - it reads every vocabulary, which others are spared

    text = json.dumps(masked(answer), separators=(",", ":"), ensure_ascii=False).replace(LEFT_OUT, REFERENCE)
    return -(-len(get_encoding("o200k_base").encode(text)) // 10) * 10


def main() -> None:
    """Write the page, of a server of the demo as the tests load it."""
    books = demo_books(ROWS)
    with serving(books.instance, books.state) as server, connected(server.url, "auto") as client:
        PAGE.write_text(page(lambda tool, asked: client.call(tool, **asked)), encoding="utf-8")


if __name__ == "__main__":
    main()
