"""Codes and times: whole numbers that are keys and no amounts, amounts named by a year, days of eight digits."""

import pytest

from tests.unit.server.setup.test_proposals import profile, roles


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # a trial balance in Finnish: no word is known, and each number has a name
            "TILI TILIN_NIMI ERÄ\n1910 Pankkitili 250,75\n3000 Myynti -1000,50\n4000 Ostot 749,75",
            {"TILI": "account", "TILIN_NIMI": "name", "ERÄ": "amount"},
        ),
        (  # a company in every row, and postings that are counted
            "firma lauf date account Wert\n12 101 2025-01-05 A 1.5\n12 102 2025-01-06 B 2.5\n12 103 2025-02-06 B 3.5",
            {"firma": "dimension", "lauf": "text", "date": "time", "account": "account", "Wert": "amount"},
        ),
        (  # whole numbers of one width that repeat beside amounts with places
            "date Sparte lön\n2025-01-05 410 1.5\n2025-01-06 420 2.5\n2025-02-06 410 3.5\n2025-02-07 420 4.5",
            {"date": "time", "Sparte": "dimension", "lön": "amount"},
        ),
        (  # counts and whole amounts stay what they are
            "date account amount units pay\n2025-01-05 A 1.5 3 90\n2025-01-06 B 2.5 4 150\n2025-02-06 B 3.5 3 90",
            {"date": "time", "account": "account", "amount": "amount", "units": "amount", "pay": "amount"},
        ),
    ],
)
def test_whole_numbers_are_codes_if_they_are_named_constant_counted_or_repeated(
    text: str, expected: dict[str, str]
) -> None:
    assert roles(text) == expected


def test_a_year_over_amounts_is_a_heading_and_over_years_a_time() -> None:
    text = "Mandant Konto Jahr Vorjahr\n7 A 1,50 2,50\n7 B -1,50 -2,50\n7 C 3,25 4,25"
    assert roles(text) == {"Mandant": "dimension", "Konto": "account", "Jahr": "amount", "Vorjahr": "amount"}
    text = "Konto Jahr Betrag\nA 2024 1,50\nB 2025 -1,50\nC 2025 3,25"
    assert roles(text) == {"Konto": "account", "Jahr": "year", "Betrag": "amount"}


def test_a_day_that_is_the_same_on_every_row_is_not_the_time() -> None:
    found = profile(
        "Auszug.csv",
        "hkont bldat wrbtr exported_date\nA 20250110 1,50 2025-12-31\nB 20250210 2,50 2025-12-31\n"
        "B 20250310 2,50 2025-12-31",
    )
    told = {column: (role.value, why) for column, (role, why) in found.roles.items()}
    assert told["bldat"][0] == "time"
    assert told["exported_date"] == ("text", "every row has 2025-12-31")


def test_ids_of_eight_digits_are_days_only_if_all_are_and_their_name_is_none_of_ids() -> None:
    days = "konto {} Betrag\nA 20250110 1,50\nB 20250210 2,50\nB {} 2,50"
    assert roles(days.format("gebucht", "20250310"))["gebucht"] == "time"
    assert roles(days.format("gebucht", "20251310"))["gebucht"] != "time"
    assert roles(days.format("beleg", "20250310"))["beleg"] != "time"


def test_the_lines_of_a_report_are_its_dimension_though_every_text_differs() -> None:
    rows = "\n".join(f"Posten{at} {at},50 -{at},25 0,75" for at in range(1, 31))
    assert roles(f"Posten Jan Feb Mrz\n{rows}")["Posten"] == "account"
    journal = "\n".join(f"2025-01-{at:02} Text{at} {at},50" for at in range(1, 31))
    assert roles(f"Datum Posten Betrag\n{journal}")["Posten"] == "text"
