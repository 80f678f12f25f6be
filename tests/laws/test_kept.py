"""The law of kept reports: one opens only for whoever may see every row that it may have been made of."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.door import open_books
from engine.errors import ExpiredReference, Refusal
from tests.laws.test_scope import BOARD, HIDDEN, NODES, PRODUCTS, SCENARIOS, Row, allows, profile_of, rows, write
from tests.laws.test_scope import restrictions as one_restriction

Granted = dict[str, dict[str, tuple[bool, int]]]  # scenario to what restricts it

grants = st.dictionaries(st.sampled_from(tuple(SCENARIOS)), one_restriction, min_size=1, max_size=2)
ASKED = {"scenarios": {"A": "actual", "B": "budget", "V": "var(actual,budget)"}, "period": ("2021-01", "2021-02")}


def profile(granted: Granted) -> str:
    """Return the profile `seen` that grants each scenario under its own restriction."""
    grants = [profile_of(restriction, (scenario,)) for scenario, restriction in granted.items()]
    return (
        "seen: {scenarios: {" + ", ".join(grant[len("seen: {scenarios: {") : -len("}}\n")] for grant in grants) + "}}\n"
    )


def visible(facts: list[Row], granted: Granted) -> set[Row]:
    """Return the rows that a profile shows, by the words of figures.md."""
    return {row for row in facts if row[1] in granted and allows(row, granted[row[1]])}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(facts=rows, before=grants, change=st.none() | grants)
def test_a_kept_report_opens_only_for_whoever_sees_every_row_behind_it(
    facts: list[Row], before: Granted, change: Granted | None
) -> None:
    now = change or before
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        books = write(
            home, facts + HIDDEN, list(PRODUCTS[:4]), NODES, "".join(SCENARIOS.values()) + BOARD, profile(before)
        )
        try:
            report = books.metric("revenue", "closing", **ASKED)
        except Refusal:
            assume(False)
        books.keep(report, home / "kept")
        (home / "books" / "profiles.yaml").write_text(profile(now))
        try:
            open_books(home / "books", state=home / "state", profile="seen").open(home / "kept")
        except ExpiredReference:
            assert now != before
        else:
            read = {column.scenario for column in report.columns} & set(SCENARIOS)
            assert {row for row in visible(facts, before) if row[1] in read} <= visible(facts, now)
