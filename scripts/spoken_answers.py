"""What a model can say of the answers of a conversation of docs/agents.md: the figures are read from them."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
Told = Sequence[Json]  # the answers of the calls before


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


def not_dated(told: Told) -> str:
    """Answer what the books do not hold, and what they hold instead."""
    search, rows, report = told
    (note,) = search["notes"]
    return (
        f"The books do not say. Nothing in them is called {note['names'][0]}, and of the texts of all postings of "
        f"January to September 2026 {rows['total_rows'] or 'none'} holds the word. They hold the balance of "
        f"receivables, EUR {money(report['rows'][0]['values'][0])} at the end of September, without "
        "days on which invoices are due."
    )


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
    volume, mix, price = (found["lists"][0]["totals"][name] for name in ("volume", "mix", "price"))
    return (
        f"Sales are {signed(found['variance'])} against the year before: {signed(volume)} by volume, "
        f"{signed(mix)} by the mix of product lines and {signed(price)} by price. The three add up to the variance "
        "without a remainder."
    )


def outstanding(told: Told) -> str:
    """Answer how long customers take to pay."""
    (report,) = told
    (row,) = report["rows"]
    now, before = row["values"][2:]
    return (
        f"Receivables at the end of September 2026 are {now:.1f} days of the quarter's revenue, after {before:.1f} a "
        "year before. The days are those of each quarter itself."
    )


def trailing(told: Told) -> str:
    """Answer with a rolling series."""
    (report,) = told
    series = {row["key"]: row["values"] for row in report["rows"] if "key" in row}
    best = max(series, key=lambda month: float(series[month][1]))
    return (
        f"The three months to September 2026 make EUR {money(series['2026-09'][1])}, a mean of "
        f"{money(series['2026-09'][2])} a month. The best three months of the year end with {best}."
    )


def large_customers(told: Told) -> str:
    """Answer who makes more than a part of the sales."""
    (report,) = told
    *shown, others, _ = report["rows"]
    named = ", ".join(f"{row['label']} ({100 * row['values'][1]:.1f} %)" for row in shown)
    return (
        f"{len(shown)} customers make at least 0.6 % of the sales each: {named}. The other {others['holds']:,} make "
        f"{100 * others['values'][1]:.1f} % together."
    )


def first_four_fifths(told: Told) -> str:
    """Answer which product lines bring most of the sales."""
    (report,) = told
    *shown, others, _ = report["rows"]
    *first, last = (row.get("label", row["key"]) for row in shown)
    return (
        f"{', '.join(first)} and {last} bring {100 * shown[-1]['values'][1]:.1f} % of the sales; the next product line "
        f"takes the sum above 80 %. The {others['holds']} others make the rest."
    )


def common_size(told: Told) -> str:
    """Answer what costs are of revenue."""
    (statement,) = told
    values = {row["key"]: row["values"] for row in statement["rows"] if "values" in row}
    budget, actual = values["personnel"]
    return (
        f"Personnel takes {100 * actual:.1f} % of revenue, against {100 * budget:.1f} % in the budget; EBITDA is "
        f"{100 * values['ebitda'][1]:.1f} % of it, against {100 * values['ebitda'][0]:.1f} %."
    )


def flux(told: Told) -> str:
    """Answer which lines moved, where, and what is left."""
    (statement,) = told
    rows = statement["rows"]
    lines = [row for row in rows if not row.get("level") and row.get("style") != "ratio" and row.get("unit") is None]
    sentences = []
    for line in (row for row in lines if row.get("kind") != "header"):
        members = [row for row in rows if row["key"].startswith(f"{line['key']}/") and row["kind"] == "member"]
        where = f", {members[0]['label']} {signed(members[0]['values'][2])}" if members else ""
        sentences.append(f"{line['label']} {signed(line['values'][2])}{where}")
    left = next(each for each in statement["immaterial"] if each["unit"] == "EUR")
    return (
        f"These lines differ from their budget in September 2026 by more than both bounds: "
        f"{'; '.join(sentences)}. Of the other {left['lines']} lines in EUR, {left['largest']} moved most, "
        f"{signed(left['value'])}."
    )


def large_invoices(told: Told) -> str:
    """Answer which invoices are large."""
    (rows,) = told
    (day, account, entity, amount), labels = rows["rows"][0], rows["labels"]
    return (
        f"{rows['total_rows']} of them, EUR {money(rows['contribution_total'])} together. The largest is of {day}: "
        f"{money(amount)} of {labels['account'][account]} in {labels['entity'][entity]}."
    )
