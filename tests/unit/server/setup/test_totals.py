"""Rows of totals: by which sums and which words a row inside a table is left out, and which rows stay."""

from pathlib import Path

import pytest

from server.files.sampling import sample_file
from server.setup.answers import Answers, FileAnswers
from server.setup.proposal import profile_of
from server.setup.roles import TableProfile

HEADING = "Konto;Bezeichnung;Jan 2025;Feb 2025;Mrz 2025\n"
ROWS = "0400;Maschinen;1.234,50;-2,00;5,00\n8400;Erlöse;-99,99;3,25;6,00\n"
SUM = "1.134,51;1,25;11,00\n"  # 1234.50 - 99.99, 3.25 - 2, 5 + 6


def profiled(folder: Path, text: str, name: str = "gl.csv") -> TableProfile:
    """Return what the columns of a file are, and the key that leaves out its totals."""
    (folder / name).write_text(text, encoding="utf-8")
    (table,) = sample_file(folder / name)
    return profile_of(table, Answers())


@pytest.mark.parametrize(
    ("label", "skip"),
    [
        ("Summe Aktiva;;", {"equals": {"Konto": ["Summe Aktiva"]}}),
        ("Total assets;;", {"equals": {"Konto": ["Total assets"]}}),
        ("Sum;;", {"equals": {"Konto": ["Sum"]}}),
        ("** Summe **;;", {"equals": {"Konto": ["** Summe **"]}}),
        ("Jahresergebnis;;", {"equals": {"Konto": ["Jahresergebnis"]}}),
        ("Net income;;", {"equals": {"Konto": ["Net income"]}}),
        (";Ergebnis;", {"equals": {"Bezeichnung": ["Ergebnis"]}}),
        (";Summe Erträge;", {"equals": {"Bezeichnung": ["Summe Erträge"]}}),
        (";;", {"blank": ["Konto"]}),
        ("9999;Summe Bilanz;", {"equals": {"Konto": ["9999"]}}),
    ],
)
def test_a_row_that_is_the_sum_of_those_above_is_left_out(tmp_path: Path, label: str, skip: dict[str, object]) -> None:
    found = profiled(tmp_path, f"{HEADING}{ROWS}{label}{SUM}")
    assert found.totals.keys == {"skip": skip, "control_totals": {"totals": True}}
    assert found.totals.decided[0].evidence.endswith("and is the sum of the 2 rows above")
    assert found.table.sample.frame["Konto"].to_list() == ["0400", "8400"]


def test_rows_that_words_alone_call_totals_are_asked_about_with_their_money(tmp_path: Path) -> None:
    found = profiled(tmp_path, f"{HEADING}{ROWS}Summe Aktiva;;1,00;1,00;1,00\n")
    assert found.totals.decided == ()
    (doubt,) = found.doubts
    assert doubt.says.startswith(
        "leave out 1 row where Konto is 'Summe Aktiva'? They hold 1.00, 1.00, 1.00; nothing shows that they are sums "
    )
    assert [(choice.answer, choice.effect) for choice in doubt.choices] == [
        ({"totals": "keep"}, "they are rows like others: 1.00, 1.00, 1.00 is loaded"),
        ({"totals": "leave_out"}, "they are totals: 1.00, 1.00, 1.00 is not loaded"),
    ]
    kept = profile_of(found.table, Answers(files={"gl.csv": FileAnswers(totals="keep")}))
    assert (kept.totals.decided, kept.doubts) == ((), ())
    left = profile_of(found.table, Answers(files={"gl.csv": FileAnswers(totals="leave_out")}))
    assert (left.totals.keys, left.doubts) == ({"skip": {"equals": {"Konto": ["Summe Aktiva"]}}}, ())


@pytest.mark.parametrize(
    "row",
    [
        ";;1,00;2,00;3,00",  # no account, and no sum
        "9999;Jahresergebnis;1,00;2,00;3,00",  # an account of that name
        "9000;Summe X;1,00;2,00;3,00",
        f"9000;Miete;{SUM.strip()}",  # a sum by chance
    ],
)
def test_other_rows_stay(tmp_path: Path, row: str) -> None:
    found = profiled(tmp_path, f"{HEADING}{ROWS}{row}\n")
    assert (found.totals.keys, found.table.sample.frame.height) == ({}, 3)


def test_subtotals_and_their_total_are_left_out(tmp_path: Path) -> None:
    rows = ["10;1;2;3", "11;4;5;6", "Summe A;5;7;9", "20;1;1;1", "21;1;1;1", "Summe B;2;2;2", ";7;9;11"]
    found = profiled(tmp_path, "\n".join(["Konto;Jan 2025;Feb 2025;Mrz 2025", *rows]) + "\n")
    assert found.totals.keys == {
        "skip": {"equals": {"Konto": ["Summe A", "Summe B"]}, "blank": ["Konto"]},
        "control_totals": {"totals": True},
    }
    assert "row 8 is without Konto and is the sum of the 4 rows above" in found.totals.decided[0].evidence


def test_a_group_that_is_the_sum_of_its_accounts_is_left_out(tmp_path: Path) -> None:
    groups = "4;Aufwand gesamt;12;13;14\n41;Personal;7;7;7\n4100;Löhne;2;3;4\n4110;Gehälter;5;4;3\n4200;Miete;5;6;7\n"
    found = profiled(tmp_path, HEADING + groups)
    assert found.totals.keys == {"skip": {"equals": {"Konto": ["41", "4"]}}, "control_totals": {"parents": "Konto"}}
    assert found.table.sample.frame["Konto"].to_list() == ["4100", "4110", "4200"]
    own = profiled(tmp_path, HEADING + groups.replace("4;Aufwand gesamt;12", "4;Aufwand gesamt;13"))
    assert own.totals.keys == {"skip": {"equals": {"Konto": ["41"]}}, "control_totals": {"parents": "Konto"}}


def test_a_group_in_a_ledger_is_proven_day_by_day(tmp_path: Path) -> None:
    rows = ["Datum;Konto;Betrag"]
    for month in ("2025-01", "2025-02"):
        rows += [f"{month}-31;4;7,00".replace("02-31", "02-28"), f"{month}-28;4100;3,00", f"{month}-28;4200;4,00"]
    assert profiled(tmp_path, "\n".join(rows) + "\n").totals.keys == {}  # the sums of January stand on another day
    even = [row.replace("01-31", "01-28") for row in rows]
    assert profiled(tmp_path, "\n".join(even) + "\n").totals.keys == {
        "skip": {"equals": {"Konto": ["4"]}},
        "control_totals": {"parents": "Konto"},
    }


def balance(*rows: str) -> str:
    """Return a list of accounts with two months across."""
    return "\n".join(["Konto;Bezeichnung;Jan 2025;Feb 2025;Mrz 2025", *rows]) + "\n"


HEADINGS = (
    "10000;Aktiva;6,00;15,00;24,00",
    "11000;Anlagen;3,00;7,00;11,00",
    "11100;Maschinen;1,00;3,00;5,00",
    "11200;Autos;2,00;4,00;6,00",
    "12000;Umlauf;3,00;8,00;13,00",
    "12100;Bank;3,00;8,00;13,00",
)


def test_headings_filled_up_with_zeros_are_left_out_also_above_one_account(tmp_path: Path) -> None:
    found = profiled(tmp_path, balance(*HEADINGS))
    assert found.table.sample.frame["Konto"].to_list() == ["11100", "11200", "12100"]
    assert found.doubts == ()


def test_headings_of_which_one_is_no_sum_are_asked_about(tmp_path: Path) -> None:
    found = profiled(tmp_path, balance(*HEADINGS, "20000;Passiva;9,00;9,00;9,00", "20100;Darlehen;9,00;9,00;9,50"))
    (doubt,) = found.doubts
    assert doubt.says.startswith("leave out 1 row where Konto is '20000'? They hold 9.00, 9.00, 9.00;")
    assert "row 8 has '20000' in Konto and is no sum of those below it, as others are" in doubt.says


@pytest.mark.parametrize(
    "rows",
    [
        ("4000;Erlöse;1,00;2,00;3,00", "4100;Skonti;1,00;2,00;3,00", "5000;Miete;7,00;7,00;7,00"),  # one below one
        ("4000;Erlöse;1,00;2,00;3,00", "4100;Skonti;0,50;1,00;1,50", "4200;Boni;0,50;1,00;2,50"),
        ("0;A;3,00;3,00;3,00", "1;B;1,00;1,00;1,00", "2;C;2,00;2,00;2,00"),
    ],
)
def test_accounts_that_only_look_like_headings_stay(tmp_path: Path, rows: tuple[str, ...]) -> None:
    found = profiled(tmp_path, balance(*rows))
    assert (found.table.sample.frame.height, found.doubts) == (3, ())
