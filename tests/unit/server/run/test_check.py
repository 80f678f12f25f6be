"""tieout check, as an operator asks it why somebody sees nothing."""

from contextlib import closing
from pathlib import Path

import pytest

from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from tests.support.books.loads import load_instance
from tests.support.books.profiles import WrittenTables
from tests.support.books.small import write_instance
from tests.support.engines.postgres import schema_of
from tests.support.service.forks import tieout


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger by product and a head count, loaded into its own state folder."""
    amounts = "time: {column: date}\nmeasures: {amount: {places: 2}}\n"
    instance = write_instance(
        tmp_path / "small",
        facts={
            "gl": "date scenario product amount\n2021-01-05 actual A 1\n2021-01-05 budget B 2",
            "people": "date scenario amount\n2021-01-05 actual 4",
        },
        domains={
            "gl": amounts + "dimensions: {product: product}\nmetrics: {revenue: {measure: amount}}\n",
            "people": amounts + "dimensions: {}\nmetrics: {heads: {measure: amount}}\n",
        },
        dimensions="product: {kind: leaf}",
        scenarios="actual: {alias: A, kind: actual}\nbudget: {alias: B, kind: budget}\n",
        profiles="""
            whole: {scenarios: {'*': {}}}
            only_a: {scenarios: {actual: {dimensions: {product: {allow: [A]}}}}}
            not_z: {scenarios: {'*': {dimensions: {product: {deny: [Z]}}}}}
            faulty: {scenarios: {plan: {}}}
            assign:
              - {subject: ada, profile: only_a}
              - {claim: {groups: finance}, profile: whole}
              - {subject: bob, profile: not_z}
              - {subject: cyd, profile: faulty}
        """,
    )
    load_instance(instance, instance / ".tieout")
    return instance


def seen(ledger: Path, *asked: str, **settings: str) -> list[str]:
    """Return what the command prints of somebody."""
    return tieout("check", ledger, *asked, **settings).stdout.splitlines()


def test_check_tells_what_somebody_sees_or_why_nothing(ledger: Path) -> None:
    assert seen(ledger, "--subject", "ada") == [
        "profiles: only_a",
        "actual: gl in part, people nothing",
        "budget: gl nothing, people nothing",
    ]
    assert seen(ledger, "--subject", "ada", "--claim", "groups=it", "--claim", "groups=finance") == [
        "profiles: only_a, whole",
        "actual: gl whole, people whole",
        "budget: gl whole, people whole",
    ]
    nobody = seen(ledger, "--claim", "groups=Finance")
    assert nobody[0] == "profiles: none is assigned to this subject with these claims"
    assert seen(ledger, "--subject", "bob")[:3] == [
        "profiles: not_z",
        "profiles.yaml:4: profile not_z, *: product has no 'Z', and denies it: nothing is shown",
        "actual: gl nothing, people nothing",
    ]
    closed = tieout("check", ledger, "--subject", "cyd", "--claim", "groups=finance")
    assert closed.returncode == 1
    assert closed.stdout.splitlines() == [
        "profiles: faulty, whole",
        "sees nothing until the faults of these profiles are corrected: faulty",
    ]
    assert "profiles.yaml:5: there is no scenario 'plan'" in closed.stderr
    (ledger / "profiles.yaml").write_text("assign: [")
    assert seen(ledger, "--subject", "ada")[1] == (
        "sees nothing, and nor does anybody else: an assignment cannot be read until its faults are corrected"
    )
    assert "it takes NAME=VALUE, such as groups=finance" in tieout("check", ledger, "--claim", "finance").stderr


def test_check_names_what_profiles_name_and_the_books_lack(ledger: Path) -> None:
    found = tieout("check", "--data", ledger)
    assert found.returncode == 1
    assert "profiles.yaml:4: profile not_z, *: product has no 'Z', and denies it: nothing is shown" in found.stderr


def test_check_reads_the_profiles_that_a_server_would(ledger: Path, embedded_server: str) -> None:
    with schema_of(embedded_server) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        with closing(Database(uri)) as database:
            WrittenTables(uri, database).write(
                "emea: {scenarios: {'*': {domains: {deny: [people]}}}}\nodd: {scenarios: {plan: {}}}\n"
                "assign: [{subject: ada, profile: emea}]"
            )
        settings = {"SVC_PROFILES": "database", "DATABASE_URL": uri}
        ada = seen(ledger, "--subject", "ada", **settings)
        assert ada[:2] == ["profiles: emea", "actual: gl whole, people nothing"]
        found = tieout("check", ledger, **settings)
    assert found.returncode == 1
    assert "the tables of profiles odd.scenarios.plan: there is no scenario 'plan'" in found.stderr
    assert "profiles.yaml" not in found.stderr
