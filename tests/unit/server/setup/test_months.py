"""Months across: which columns are months, in every form, and which columns beside them are their sums."""

from pathlib import Path

import pytest

from server.files.period_names import month_of
from server.files.sampling import sample_file
from server.setup.answers import Answers
from server.setup.months import turns_the_year
from server.setup.proposal import propose
from server.setup.roles import TableProfile, profile_table

MONTHS = ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
NUMBERS = range(1, 13)


def profile(folder: Path, *lines: str, name: str = "Budget_2025.csv") -> TableProfile:
    """Return what the columns of a file are."""
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (table,) = sample_file(folder / name)
    return profile_table(table)


@pytest.mark.parametrize(
    "names",
    [
        MONTHS,
        [f"P{number:02}" for number in NUMBERS],
        [f"Monat {number}" for number in NUMBERS],
        [f"Periode {number}" for number in NUMBERS],
        [str(number) for number in NUMBERS],
        [f"Plan {month}" for month in MONTHS],
        [f"{month} 2025" for month in MONTHS],
    ],
    ids=lambda names: names[0],
)
def test_months_across_have_many_forms(tmp_path: Path, names: list[str]) -> None:
    rows = ["0400;" + ";".join(f"{number},50" for number in NUMBERS), "8400" + ";1,25" * 12]
    found = profile(tmp_path, f"Konto;{';'.join(names)}", *rows)
    assert found.across is not None
    assert list(found.across.names) == names
    books = propose([found.table], Answers(), "books")
    assert books.scenarios == {"budget": "Budget"}


def test_quarters_and_totals_between_months_are_left_out_if_they_are_sums(tmp_path: Path) -> None:
    found = profile(
        tmp_path,
        "Konto;Jan;Feb;Mrz;Q1;Apr;Mai;Jun;Q2;H1;Gesamt",
        "0400;1,00;2,00;3,00;6,00;4,00;5,00;6,00;15,00;21,00;21,00",
        "8400;-0,10;-0,20;;-0,30;0,40;-;0,70;1,10;0,80;0,80",
    )
    assert found.across is not None
    assert found.across.names == ("Jan", "Feb", "Mrz", "Apr", "Mai", "Jun")
    assert {name: found.roles[name] for name in ("Q1", "Q2", "H1")} == {
        "Q1": (found.roles["Konto"][0].UNUSED, "the sum of Jan to Mrz in every row"),
        "Q2": (found.roles["Konto"][0].UNUSED, "the sum of Apr to Jun in every row"),
        "H1": (found.roles["Konto"][0].UNUSED, "the sum of Jan to Jun in every row"),
    }
    answers = Answers()
    propose([found.table], answers, "books")
    assert (answers.open, answers.questions) == ([], [])


def test_a_number_beside_months_that_is_no_sum_is_asked_for(tmp_path: Path) -> None:
    found = profile(tmp_path, "Konto;Jan;Feb;Mrz;Vorjahr", "0400;1,00;2,00;3,00;6,00", "8400;1,00;1,00;1,00;3,01")
    answers = Answers()
    propose([found.table], answers, "books")
    (asked,) = answers.questions
    assert asked.says == "Vorjahr stands beside the months Jan to Mrz and is no sum of them"
    assert [(choice.answer, choice.effect) for choice in asked.choices] == [
        (
            {"columns": {"Vorjahr": "unused"}},
            "it is none of the amounts: its sum 9.01 is not loaded; else bring it in a file of its own",
        )
    ]


@pytest.mark.parametrize(
    "heading", ["Konto;Ist Jan;Ist Feb;Ist Mrz;Plan Jan;Plan Feb;Plan Mrz", "Konto;Jan;Feb;Mrz;Januar;Februar;März"]
)
def test_columns_that_name_a_month_twice_are_no_months_across(tmp_path: Path, heading: str) -> None:
    assert profile(tmp_path, heading, "0400;1;2;3;4;5;6").across is None


def test_a_month_is_known_by_its_name_or_its_number() -> None:
    names = ("Okt", "P07", "Monat 3", "12", "Plan Dez", "Per. 4", "Mois 5", "P13", "Q1")
    assert [month_of(name) for name in names] == [10, 7, 3, 12, 12, 4, 5, None, None]
    assert [turns_the_year(names) for names in (["Jul", "Dez", "Jan"], ["Jan", "Jul"], ["Mrz", "Feb", "Jan"])] == [
        True, False, False,
    ]  # fmt: skip
