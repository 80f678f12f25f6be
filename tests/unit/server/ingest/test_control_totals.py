"""Control totals of a feed: what a file says of its own sums, held against its rows while they are loaded."""

from pathlib import Path
from typing import Any

import pytest

from server.files import files
from server.ingest.control_tables import control_line, control_table
from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.unit.server.files.test_formats import instance_of
from tests.unit.server.ingest.test_controls import controls

pytestmark = pytest.mark.usefixtures("pieces")
SKIP: dict[str, Any] = {"skip": {"equals": {"account": ["Total", "Grand", "1", "2"]}}}


@pytest.fixture(params=[3, 500_000])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files come in pieces of three rows, or whole."""
    monkeypatch.setattr(files, "PIECE", request.param)


def told(folder: Path, text: str, grain: str = "day", **keys: Any) -> tuple[list[str], list[str]]:
    """Return the controls of a file in one line, and the rows of its table where they fail."""
    keys.setdefault("map", {"text": {"constant": "x"}})
    (file,) = controls(instance_of(folder, text, grain, **keys))
    said = control_line(file, money=True).split("; ")
    table = [line.strip() for line in control_table(file) if "differs" in line]
    return [part for part in said if " of " in part or "debits" in part], table


def test_debits_and_credits_are_equal_in_a_file_and_in_each_journal(tmp_path: Path) -> None:
    head = "date,account,journal,soll,haben\n"
    rows = [
        f"2026-01-31,{n % 3},J{n // 2},{'' if n % 2 else n * 5},{(n - 1) * 5 if n % 2 else ''}\n" for n in range(2, 10)
    ]
    keys: dict[str, Any] = {
        "amount": {"debit": "soll", "credit": "haben"},
        "control_totals": {"balanced": True, "per": "journal"},
    }
    said, wrong = told(tmp_path / "a", head + "".join(rows), **keys)
    assert said == ["debits = credits", "4 of 4 values of journal balance"]
    assert not wrong
    rows[4] = "2026-01-31,0,J3,,30\n"
    said, wrong = told(tmp_path / "b", head + "".join(rows), **keys)
    assert said == [
        "debits ≠ credits", "3 of 4 values of journal balance (not row 6)"
    ]  # fmt: skip
    assert wrong == ["differs by -60", "row 6 differs by -60"]


def test_the_closing_balance_of_a_row_is_its_opening_one_and_the_amount(tmp_path: Path) -> None:
    text = "date,account,ob_d,ob_c,amount,cb\n2026-01-31,1,10,,2.50,12.50\n2026-01-31,2,,4,1,-3\n"
    keys: dict[str, Any] = {"control_totals": {"opening": ["ob_d", "ob_c"], "closing": "cb"}}
    assert told(tmp_path / "a", text, **keys)[0] == ["2 of 2 rows have opening + amount = closing"]
    said, wrong = told(tmp_path / "b", text + "2026-01-31,3,,,1,\n2026-01-31,4,1,,7391.17,7392.18\n", **keys)
    assert (said, wrong) == (["2 of 3 rows have opening + amount = closing (not row 5)"], ["row 5 differs by 0.01"])


def test_balances_run_on_from_row_to_row_of_an_account(tmp_path: Path) -> None:
    rows = (
        "2026-01-02,1,5,105\n2026-01-02,2,1,1\n2026-01-03,1,-20,\n2026-01-03,2,2,3\n"
        "2026-01-04,1,1,86\n2026-01-05,1,1,87\n"
    )
    keys: dict[str, Any] = {"control_totals": {"closing": "saldo", "within": "account"}}
    head = "date,account,amount,saldo\n"
    assert told(tmp_path / "a", head + rows, **keys)[0] == ["3 of 3 closings continue the one before"]
    said, wrong = told(tmp_path / "b", head + rows.replace(",86", ",88"), **keys)
    assert said == ["1 of 3 closings continue the one before (not rows 6, 7)"]
    assert wrong == ["row 6 differs by 2", "row 7 differs by -2"]


LEDGER = [
    "2026-01-31,11,5,\n", "2026-01-31,12,7,\n", "2026-01-31,Total,12,\n", "2026-01-31,21,8,\n",
    "2026-01-31,Total,8,\n", "2026-01-31,Grand,20,\n", "2026-01-31,Total,,no amount\n",
]  # fmt: skip


def test_rows_of_totals_are_the_sums_of_the_rows_that_they_close(tmp_path: Path) -> None:
    head = "date,account,amount,text\n"
    keys: dict[str, Any] = {**SKIP, "control_totals": {"totals": True}, "map": {}, "numbers": {"blank": "none"}}
    assert told(tmp_path / "a", head + "".join(LEDGER), **keys)[0] == ["3 of 3 totals agree"]
    moved = [*LEDGER[:1], LEDGER[2], LEDGER[1], *LEDGER[3:]]
    said, wrong = told(tmp_path / "b", head + "".join(moved), **keys)
    assert (said, wrong) == (
        ["1 of 3 totals agree (not rows 3, 6)"], ["row 3 differs by 7", "row 6 differs by -7"]
    )  # fmt: skip


def test_totals_below_months_across_agree_in_every_month(tmp_path: Path) -> None:
    keys = {
        **SKIP,
        "unpivot": {"columns": ["2026-01", "2026-02"], "into": "date", "value": "amount"},
        "control_totals": {"totals": True},
    }
    text = "account,2026-01,2026-02\n11,5,1.5\n12,7,2\nTotal,12,3.5\n21,1,1\nGrand,13,4.6\n"
    said, wrong = told(tmp_path, text, "month", **keys)
    assert (said, wrong) == (["1 of 2 totals agree (not row 6)"], ["row 6 differs by 0.1"])


def test_parents_are_the_sums_of_the_rows_whose_ids_begin_with_theirs(tmp_path: Path) -> None:
    keys: dict[str, Any] = {**SKIP, "control_totals": {"parents": "account", "totals": True}}
    rows = [
        f"2026-0{m}-28,{id_},{m * amount}\n"
        for m in (1, 2)
        for id_, amount in (("1", 3), ("11", 1), ("12", 2), ("2", 4), ("21", 4))
    ]
    text = f"date,account,amount\n{''.join(rows)}2026-02-28,Grand,21\n"
    assert told(tmp_path / "a", text, **keys)[0] == [
        "1 of 1 totals agree", "4 of 4 parents are the sum of their children"
    ]  # fmt: skip
    said, wrong = told(tmp_path / "b", text.replace("2026-02-28,1,6", "2026-02-28,1,7391.17"), **keys)
    assert said[1] == "3 of 4 parents are the sum of their children (not row 7)"
    assert wrong == ["row 7 differs by 7,385.17"]


def test_a_control_that_fails_refuses_the_load_if_the_feed_says_so_and_tells_no_amount(tmp_path: Path) -> None:
    text = "date,account,amount,text\n" + "".join(LEDGER).replace("Total,12", "Total,7391.17")
    refused: dict[str, Any] = {
        "numbers": {"blank": "none"},
        "control_totals": {"totals": True, "on_fail": "refuse"},
        "map": {},
    }
    instance = instance_of(tmp_path, text, **{**SKIP, **refused})
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state")
    says = "gl.csv: 2 of 3 totals agree (not row 4); mend the file, or set control_totals: {on_fail: warn}"
    assert failed.value.recorded == failed.value.message == says
    assert any("7,379.17" in line for file in failed.value.controls for line in control_table(file))
