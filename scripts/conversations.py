"""The conversations of docs/agents.md: a question, the calls that a model makes, and what it can say then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.spoken_answers import (
    Json,
    Told,
    cash_now,
    common_size,
    drawn,
    first_four_fifths,
    flux,
    for_the_board,
    large_customers,
    large_invoices,
    largest,
    not_dated,
    not_there,
    outstanding,
    price_or_volume,
    ten_largest,
    ties_out,
    trailing,
    why_below_budget,
)

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
        question="Which invoices are overdue?",
        calls=(
            PageCall(
                why="Nothing that a caller sees is called so; the note says what was looked through, and what was not.",
                tool="search_hierarchy",
                arguments=fixed(query="overdue"),
            ),
            PageCall(
                why="The texts of rows, which the note names; `summary` counts without showing rows.",
                tool="inspect_rows",
                arguments=fixed(source_key="gl", scenario_id="actual", text="overdue", summary=True, **SEPTEMBER),
            ),
            PageCall(
                why="What the books have instead.",
                tool="run_metric",
                arguments=fixed(metrics=["receivables"], scenarios=[{"scenario": "actual"}], period_start="2026-09"),
            ),
        ),
        answer=not_dated,
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
    Conversation(
        question="How many days of sales are outstanding, against a year before?",
        calls=(
            PageCall(
                why="A formula of the call; `days(period)` are those of each column's own quarter.",
                tool="run_metric",
                arguments=fixed(
                    metrics=["receivables"],
                    formulas={"dso": "receivables / revenue * days(period)"},
                    scenarios=[{"scenario": "actual"}, {"scenario": "actual@py"}],
                    period_start="2026-Q3",
                ),
            ),
        ),
        answer=outstanding,
    ),
    Conversation(
        question="Show the trailing three months of revenue, month by month.",
        calls=(
            PageCall(
                why="`@last3` and `@avg3` of each month, beside the month itself.",
                tool="run_metric",
                arguments=fixed(
                    metrics=["revenue"],
                    scenarios=[{"scenario": "actual"}, {"scenario": "actual@last3"}, {"scenario": "actual@avg3"}],
                    dimensions=["month"],
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=trailing,
    ),
    Conversation(
        question="Which customers make at least 0.6 % of our sales?",
        calls=(
            PageCall(
                why="The share is a column, and a condition holds on it.",
                tool="run_metric",
                arguments=fixed(
                    metrics=["sales_amount"],
                    scenarios=[{"scenario": "actual"}, {"scenario": "share(actual)", "alias": "Share"}],
                    dimensions=["customer"],
                    order_by="Share",
                    having=[{"column": "Share", "min": 0.006}],
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=large_customers,
    ),
    Conversation(
        question="Which product lines bring the first 80 % of the sales?",
        calls=(
            PageCall(
                why="Shares add up in the order of the rows, the largest first.",
                tool="run_metric",
                arguments=fixed(
                    metrics=["sales_amount"],
                    scenarios=[{"scenario": "actual"}, {"scenario": "running(share(actual))", "alias": "Together"}],
                    dimensions=["product_line"],
                    order_by="sales_amount@actual",
                    having=[{"column": "Together", "max": 0.8}],
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=first_four_fifths,
    ),
    Conversation(
        question="What is each line of the profit and loss as a percentage of revenue?",
        calls=(
            PageCall(
                why="Each figure over the revenue of its own column.",
                tool="run_statement",
                arguments=fixed(
                    statement="pnl",
                    scenarios=[{"scenario": "share(budget,revenue)"}, {"scenario": "share(actual,revenue)"}],
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=common_size,
    ),
    Conversation(
        question="Which vendor invoices above EUR 100,000 are in our operating expenses this year?",
        calls=(
            PageCall(
                why="Rows by their text and amount, the largest first; `total_rows` and `sums` count them all.",
                tool="inspect_rows",
                arguments=fixed(
                    source_key="gl",
                    scenario_id="actual",
                    filters={"metric": "opex"},
                    text="vendor invoice",
                    amount={"min": 100_000},
                    order_by="contribution",
                    columns=["date", "account", "entity"],
                    limit=3,
                    **SEPTEMBER,
                ),
            ),
        ),
        answer=large_invoices,
    ),
    Conversation(
        question="Review September against budget: what is worth a word, and where does it come from?",
        calls=(
            PageCall(
                why="Lines beyond 5 % and EUR 100,000, each with its two largest functions.",
                tool="run_statement",
                arguments=fixed(
                    statement="pnl",
                    scenarios=AGAINST_BUDGET,
                    materiality={
                        "of": "Variance",
                        "absolute": 100_000,
                        "percent": 5,
                        "rule": "all",
                        "by": "function",
                        "top": 2,
                    },
                    period_start="2026-09",
                ),
            ),
        ),
        answer=flux,
    ),
)
