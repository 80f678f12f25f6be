"""The plain kinds of files, which init reads without any question: the count of questions of each is 0."""

from decimal import Decimal
from pathlib import Path

import pytest

from server.files.sampling import sample_file
from server.setup.answers import Answers
from server.setup.proposal import propose
from tests.support.books.newcomer import first_statement, initialised

CHART = "account,name,class,group\n4000,Sales,Result,Revenue\n5000,Materials,Result,Costs\n"
KINDS = {
    "a long table with its chart": {
        "ledger.csv": "date,scenario,account,amount\n2026-01-05,actual,4000,-10.50\n2026-02-06,budget,5000,4.25\n",
        "chart.csv": CHART,
    },
    "a long table of whole amounts": {"gl.csv": "date,account,amount\n2026-01-05,4000,-10\n2026-02-06,5000,40\n"},
    "a trial balance": {"SuSa Dezember 2025.csv": "Konto;Soll;Haben;Saldo\n0400;5,50;2,00;3,50\n8400;;3,50;-3,50\n"},
    "a trial balance of one amount": {"Saldenliste 2025-12.csv": "Konto;Saldo\n0400;3,50\n8400;-3,50\n"},
    "a journal in two columns": {
        "journal.csv": "date,document,account,debit,credit\n2026-01-05,1,A,5.50,\n2026-01-05,1,B,,5.50\n"
    },
    "months across": {"Plan 2026.csv": "Konto;Jan;Feb;Mrz\n0400;1,50;2,50;3,50\n8400;4,50;5,50;6,50\n"},
    "several measures": {"gl.csv": "date,account,amount,units\n2026-01-05,A,1.50,3\n2026-02-06,B,2.50,4\n"},
    "actuals and a budget": {
        "actual.csv": "month,account,amount\n2026-01,A,1.50\n2026-02,B,2.50\n",
        "budget.csv": "month,account,amount\n2026-01,A,1.25\n2026-02,B,2.25\n",
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_kind_needs_no_question(tmp_path: Path, kind: str) -> None:
    tables = []
    for name, text in KINDS[kind].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        tables += list(sample_file(tmp_path / name))
    answers = Answers()
    propose(tables, answers, "books")
    assert (answers.open, answers.questions) == ([], [])


def test_a_trial_balance_is_of_the_only_period_that_its_name_says(tmp_path: Path) -> None:
    (path := tmp_path / "SuSa Dezember 2025.csv").write_text(
        KINDS["a trial balance"]["SuSa Dezember 2025.csv"], encoding="utf-8"
    )
    assert initialised(tmp_path / "books", path) == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["0400"] == Decimal("3.5")
