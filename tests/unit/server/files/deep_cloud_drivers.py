"""The drivers of Snowflake and BigQuery against their protocol on this machine; `make test-deep` installs them."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from engine.door import open_books
from server.ingest.load import BindingFailed
from tests.support.books.ledgers import ledger
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures
from tests.support.engines.cloud_services import refusing_token, snowflake

FOUND = [
    {"date": "2021-02-01", "scenario": "actual", "account": "A", "amount": "2.20"},
    {"date": "2021-02-28", "scenario": "actual", "account": "B", "amount": "-0.30"},
]


def test_a_query_of_snowflake_is_bound_and_its_rows_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, state = ledger(tmp_path, {"kind": "snowflake", "uri_env": "ERP_URI"}), tmp_path / "state"
    with snowflake(FOUND, "hunter4") as server:
        monkeypatch.setenv("ERP_URI", f"reader:hunter4@127.0.0.1:{server.server_port}/ERP?account=a&protocol=http")
        load_feeds(instance, state, periods="2021-02")
        (asked,) = [known for known in server.statements if "ledger" in known["sqlText"]]
        assert server.ended
        assert not any("hunter4" in json.dumps(known) for known in server.statements)
    assert [bound["value"] for _, bound in sorted(asked["bindings"].items())] == ["2021-02-01", "2021-03-01", "01"]
    assert "?" in asked["sqlText"]
    report = open_books(instance, state=state).metric(
        "revenue", scenarios={"A": "actual"}, period="2021-02", dimensions=["account"]
    )
    assert figures(report, "account") == {"A": Decimal("2.20"), "B": Decimal("-0.30"), None: Decimal("1.90")}


def test_a_login_that_snowflake_refuses_is_told_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = ledger(tmp_path, {"kind": "snowflake", "uri_env": "ERP_URI"})
    with snowflake(FOUND, "another") as server:
        monkeypatch.setenv("ERP_URI", f"reader:hunter4@127.0.0.1:{server.server_port}/ERP?account=a&protocol=http")
        with pytest.raises(
            BindingFailed, match="source erp cannot be reached: it refuses the user or the password"
        ) as failed:
            load_feeds(instance, tmp_path / "state", periods="2021-02")
        assert not server.statements
    assert "hunter4" not in str(failed.value)


def test_a_login_that_google_refuses_is_told_without_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No option or variable of the driver sets the host of BigQuery itself; that of the login is in the key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    instance = ledger(tmp_path, {"kind": "bigquery", "options_env": "ERP_OPTIONS"})
    with refusing_token() as server:
        account = {
            "type": "service_account",
            "project_id": "erp",
            "private_key_id": "hunter5",
            "private_key": secret,
            "client_email": "reader@erp.iam.gserviceaccount.com",
            "token_uri": f"http://127.0.0.1:{server.server_port}/token",
        }
        options = {
            "adbc.bigquery.sql.auth_type": "adbc.bigquery.sql.auth_type.json_credential_string",
            "adbc.bigquery.sql.auth_credentials": json.dumps(account),
            "adbc.bigquery.sql.project_id": "erp",
            "adbc.bigquery.sql.dataset_id": "books",
        }
        monkeypatch.setenv("ERP_OPTIONS", json.dumps(options))
        with pytest.raises(BindingFailed, match="the query failed: it refuses the credentials") as failed:
            load_feeds(instance, tmp_path / "state", periods="2021-02")
        assert server.asked
    said = str(failed.value)
    assert not any(line in said for line in (secret.splitlines()[1], "hunter5", "PRIVATE KEY"))
