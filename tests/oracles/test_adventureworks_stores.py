"""AdventureWorks out of PostgreSQL and out of CSV files: the same store, byte for byte."""

from pathlib import Path

import psycopg
import pytest
import yaml

from engine.facts.manifest import pin_current
from tests.conftest import AW
from tests.support.books.loads import ADVENTUREWORKS, edited_copy, load_instance, needs
from tests.support.engines.postgres import postgres

TABLES = {
    "DimAccount": """
        AccountKey int, ParentAccountKey int, AccountCodeAlternateKey int, ParentAccountCodeAlternateKey int,
        AccountDescription text, AccountType text, Operator text, CustomMembers text, ValueType text,
        CustomMemberOptions text
    """,
    "DimOrganization": """
        OrganizationKey int, ParentOrganizationKey int, PercentageOfOwnership numeric, OrganizationName text,
        CurrencyKey int
    """,
    "DimDepartmentGroup": "DepartmentGroupKey int, ParentDepartmentGroupKey int, DepartmentGroupName text",
    "fact_currency_rate": "currency_key int, date date, average_rate numeric, end_of_day_rate numeric",
    "fact_finance": """
        finance_key int, date date, original_date date, organization_key int, department_group_key int,
        scenario_key int, account_key int, amount numeric(19,4)
    """,
}


def quoted(columns: str) -> str:
    """Return column definitions with their names as they are written in the files."""
    pairs = (column.split() for column in " ".join(columns.split()).split(", "))
    return ", ".join(f'"{name}" {kind}' for name, kind in pairs)


def fill(uri: str) -> None:
    """Copy the files into tables of a database."""
    with psycopg.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for table, columns in TABLES.items():
            cursor.execute(f'create table "{table}" ({quoted(columns)})'.encode())
            with cursor.copy(f'copy "{table}" from stdin (format csv, header)'.encode()) as copy:
                copy.write((ADVENTUREWORKS / f"{table}.csv").read_bytes())


def out_of_database(folder: Path) -> Path:
    """Return a copy of the instance whose feeds are queries; facts come in no order at all."""
    copy = edited_copy(AW, folder, {})
    path = copy / "integrations.yaml"
    integrations = yaml.safe_load(path.read_text())
    integrations["sources"] = {"files": {"kind": "postgresql", "uri_env": "ERP_DATABASE_URI"}}
    for feed in integrations["bindings"].values():
        table = feed.pop("file").removesuffix(".csv")
        feed["extract"] = f'select * from "{table}" order by {"random()" if table == "fact_finance" else "1, 2"}'  # noqa: S608 - of this test
    path.write_text(yaml.safe_dump(integrations))
    return copy


def contents(store: Path) -> dict[str, bytes]:
    """Return every file that the current version needs, with its bytes."""
    return {file: (store / file).read_bytes() for file in pin_current(store).manifest.files()}


def test_the_same_books_out_of_a_database_and_out_of_files_are_the_same_bytes(
    adventureworks_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(ADVENTUREWORKS)
    with postgres(tmp_path / "erp") as uri:
        fill(uri)
        monkeypatch.setenv("ERP_DATABASE_URI", uri)
        load_instance(out_of_database(tmp_path), tmp_path / "state")
    found, expected = contents(tmp_path / "state" / "store"), contents(adventureworks_state / "store")
    assert sorted(found) == sorted(expected)
    assert found == expected
    assert len([file for file in found if file.startswith("facts/")]) > 50
