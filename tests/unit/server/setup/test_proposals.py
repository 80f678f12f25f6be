"""What init makes of columns and tables: the roles of columns, members, and trees by parents, levels and prefixes."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from server.files.findings import Findings, SampleTable
from server.files.notation import PLAIN_FIRST, NumberColumn, detect_factor
from server.files.sampling import SourceTable, sample_file
from server.setup.dimensions import dimension_key
from server.setup.facts import asked_factor, places_of
from server.setup.open_facts import named_kinds
from server.setup.roles import TableProfile, profile_table
from server.setup.totals import without_totals
from server.setup.trees import flat_tree, level_columns, level_tree, match_members, prefix_tree
from server.setup.words import scenario_kind, slug, stem, title


def table(name: str, text: str) -> SourceTable:
    """Return a table of words that are set apart by blanks; a dot is an empty cell."""
    heading, *rows = (line.split() for line in text.strip().splitlines())
    cells = [[None if cell == "." else cell for cell in row] for row in rows]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(heading, pl.String), orient="row")
    numbered = pl.Series(range(2, 2 + frame.height), dtype=pl.Int64)
    return SourceTable(sample=SampleTable(name=name, frame=frame, rows=numbered), findings=Findings())


def profile(name: str, text: str) -> TableProfile:
    """Return what the columns of a table are."""
    return profile_table(table(name, text))


def roles(text: str) -> dict[str, str]:
    """Return the role of each column."""
    return {column: role.value for column, (role, _) in profile("ledger.csv", text).roles.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Buchungsdatum Konto Bezeichnung Soll Haben\n2026-01-05 4000 Erlöse . 5,50\n2026-01-06 5000 Miete 2,25 .",
            "time account name debit credit",
        ),
        (
            "date due_date account amount\n2026-01-05 2026-02-05 A 1.5\n2026-01-06 2026-02-06 B 2",
            "time text account amount",
        ),
        ("year period account value\n2026 1 A 1.5\n2026 2 B 2", "year month account amount"),
        (
            "date account version fx_rate amount\n2026-01-05 A Plan 0.92 1.5\n2026-01-06 B Ist 0.9 2",
            "time account scenario unused amount",
        ),
        (
            "date account currency amount units\n2026-01-05 A EUR 1.5 3\n2026-01-06 B USD 2 4",
            "time account currency amount amount",
        ),
        ("Konto EB Soll Haben Saldo\nA 1 2 3 0\nB 4 5 6 3", "account unused debit credit unused"),
        ("date account Betrag S/H Saldo\n2026-01-05 A 1 S 1\n2026-01-06 A 2 H -1", "time account amount side unused"),
        ("account Jan Feb Mar Total\nA 1 2 3 6\nB 4 5 6 15", "account across across across unused"),
    ],
)
def test_the_role_of_a_column_follows_from_its_name_and_its_texts(text: str, expected: str) -> None:
    assert " ".join(roles(text).values()) == expected


def test_names_become_keys_and_headings() -> None:
    assert [slug(name) for name in ("Cost Centre", "Kostenträger", "2026", "S/H")] == [
        "cost_centre", "kostentraeger", "c_2026", "s_h",
    ]  # fmt: skip
    assert [title(name) for name in ("AccountKey", "cost_centre", "Konto", "id")] == [
        "Account", "Cost centre", "Konto", "Id",
    ]  # fmt: skip
    assert stem("DimAccount.csv") == stem("account_key") == "account"
    assert [scenario_kind(text) for text in ("Budget_2026.csv", "Ist", "planet")] == ["budget", "actual", None]


@pytest.mark.parametrize("column", ["Scenario", "Value", "Calendar Year", "compared_with", "contribution", "Quarter"])
def test_a_dimension_takes_no_name_that_reports_use(column: str) -> None:
    assert dimension_key(column) == f"{slug(column)}_code"


def test_rows_of_totals_are_left_out_and_named_where_somebody_says_so() -> None:
    left = without_totals(table("ledger.csv", "account amount\nA 1\nTotal 1\nTotalEnergies 5"), said="leave_out")
    assert left.table.sample.frame["account"].to_list() == ["A", "TotalEnergies"]
    assert left.findings.keys == {"skip": {"equals": {"account": ["Total"]}}}
    assert left.findings.decided[0].evidence == "row 3 has 'Total' in account"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("Budget_vs_Actual_2025.xlsx [Budget]", ["budget"]),
        ("Budget_vs_Actual_2025.xlsx [Actual]", ["actual"]),
        ("Budget_vs_Actual_2025.xlsx [Data]", ["actual", "budget"]),
        ("Plan 2025.xlsx [Data]", ["budget"]),
        ("Budget_vs_Actual_2025.csv", ["actual", "budget"]),
        ("ledger.csv", []),
    ],
)
def test_the_scenario_is_that_which_a_sheet_or_file_names_alone(name: str, kinds: list[str]) -> None:
    assert named_kinds(profile(name, "date account amount\n2026-01-05 A 1.5\n2026-01-06 B 2")) == kinds


@pytest.mark.parametrize(
    ("title", "heading", "asked"),
    [
        ("in thousands", "Amount", True),
        ("Angaben in TEUR", "Betrag", True),
        ("", "Betrag in TEUR", False),
        ("", "USD m", False),
        ("", "Amount in thousands", True),
        ("Trial balance from 01.01.2025", "Amount", None),
        ("Item 5, Short-term, the firm", "Amount", None),
        ("EUR m", "Amount", True),
    ],
)
def test_a_factor_is_asked_unless_the_heading_of_amounts_says_it_with_a_currency(
    title: str, heading: str, asked: bool | None
) -> None:
    found = asked_factor(detect_factor([(1, title)], {heading: 2}), {heading: 2}, Decimal(5))
    assert (bool(found.ambiguities) if found != Findings() else None) == asked


def test_a_table_of_members_is_found_by_its_ids_and_its_name() -> None:
    accounts = profile("accounts.csv", "id name\n1 Bank\n2 Sales\n3 Rent")
    entities = profile("entities.csv", "id name\n1 France\n2 Spain\n3 Italy")
    found = match_members("entity_id", ["1", "3"], [accounts, profile("entity.csv", "id name\n1 A\n2 B\n3 C")])
    assert found is not None
    assert found.found.name == "entity.csv"
    assert match_members("customer", ["1", "3"], [accounts, entities]) is None  # small numbers fit by chance
    assert match_members("account", ["7", "8"], [accounts]) is None


def test_levels_are_ordered_from_the_highest_and_their_nodes_differ_from_each_other() -> None:
    frame = table(
        "chart.csv",
        "account group class\n40 Other Revenue\n41 Sales Revenue\n50 Other Costs\n51 Staff Costs\n60 . Costs",
    ).sample.frame
    pairs = frame.with_columns(group=pl.col("class") + "-" + pl.col("group"))
    assert level_columns(pairs, "account", ["group", "class"]) == ["class", "group"]
    tree = level_tree(frame, "account", None, ["class", "group"])
    assert [(node, parent) for node, parent, _ in tree.rows] == [
        ("Revenue", ""), ("Revenue/Other", "Revenue"), ("40", "Revenue/Other"), ("Revenue/Sales", "Revenue"),
        ("41", "Revenue/Sales"), ("Costs", ""), ("Costs/Other", "Costs"), ("50", "Costs/Other"),
        ("Costs/Staff", "Costs"), ("51", "Costs/Staff"), ("60", "Costs"),
    ]  # fmt: skip
    assert tree.roots == [("Revenue", "Revenue"), ("Costs", "Costs")]


def test_codes_that_begin_with_others_or_with_few_digits_make_a_tree() -> None:
    nested = prefix_tree(["4", "40", "400", "5", "50"], {"4": "Revenue"})
    assert nested is not None
    assert nested.rows == [("4", "", "Revenue"), ("40", "4", ""), ("400", "40", ""), ("5", "", ""), ("50", "5", "")]
    masked = prefix_tree(["4000", "4100", "4200", "4201"], {})
    assert masked is None  # each first two digits but one are a group of their own
    wide = prefix_tree(["4000", "4100", "5000", "5100"], {})
    assert wide is not None
    assert wide.roots == [("4xxx", "Accounts 4xxx"), ("5xxx", "Accounts 5xxx")]


def test_a_dimension_of_many_members_has_no_flat_tree() -> None:
    assert flat_tree("Customer", [str(number) for number in range(201)], {}) is None
    few = flat_tree("Region", ["EU"], {"EU": "Europe"})
    assert few is not None
    assert few.rows == [("ALL", "", "Region (all)"), ("EU", "ALL", "Europe")]


def test_a_large_file_is_sampled_and_its_ids_are_looked_up_in_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sampling", "dialect"):
        monkeypatch.setattr(f"server.files.{module}.WHOLE", 20_000)
        monkeypatch.setattr(f"server.files.{module}.HEAD", 10_000)
        monkeypatch.setattr(f"server.files.{module}.PIECE", 500)
    path = tmp_path / "ledger.csv"
    rows = [f"2026-01-05;A{number % 7};{number},5;{'x' * 20}" for number in range(3_000)]
    rows[1_540] = "2026-01-05;RARE;1,5;x"
    path.write_text("date;account;amount;text\n" + "\n".join(rows) + "\n")
    (found,) = sample_file(path)
    assert not found.is_whole
    assert 300 < found.sample.frame.height < 1_000
    assert found.sample.rows.null_count() > 0  # rows further down, whose numbers are not known
    assert "RARE" not in found.sample.frame["account"].to_list()
    assert sorted(found.distinct(["account"])["account"]) == [*(f"A{number}" for number in range(7)), "RARE"]


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        ("1.5 21693025.26", 2),
        ("1.50 1.125 0.30000000000000004", 3),
        ("6922909.93 -12.10 1.16415E-10 -7.27596E-12 2.00", 2),  # what a computation left beside cents
        ("1.16415E-10 7.27596E-12", 12),  # numbers of that size
        ("0.000037891234 1", 12),
    ],
)
def test_a_measure_has_the_places_of_its_amounts_and_not_of_residues(texts: str, places: int) -> None:
    numbers = tuple((text, row) for row, text in enumerate(texts.split(), 2))
    column = NumberColumn("amount", numbers, (), None, has_blank=False)
    assert places_of([column], PLAIN_FIRST[0], Decimal(1)) == places
