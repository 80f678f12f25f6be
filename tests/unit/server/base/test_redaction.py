"""Redaction: no secret in a text, however it is written there, and texts without one as they were."""

from typing import Literal
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from server.base.credentials import MARK, redact, redact_value, secrets_of
from server.feeds.feeds import FeedSource, SourceKind

ORDINARY = [
    "select a, b from gl where posted >= :period_start and posted < :period_end_exclusive and x::text = 'A'",
    "select token::text, note from ledger where token_type = 'x' and bypass = 2 and compass: 3",
    "select data::jsonb @> '{}' from ledger -- at 12:30, ask ledger@example.org",
    "gl/*.parquet",
    'password authentication failed for user "reader"',
    'relation "ledger" does not exist',
    "https://example.org/ledger?month=1",
]
WRITTEN = [
    "postgresql://reader:{}@db.example/books",
    "cannot reach postgresql://reader:{}@[::1]:5432/books in time",
    "dblink('postgresql://reader:{}@db/books', 'select 1')",
    "reader:{}@db.example:5432",
    "postgresql://db/books?sslmode=require&password={}&options=x",
    "host=db password={} user=reader",
    "host=db PASSWORD = '{}' user=reader",
    'login failed: {{"password": "{}", "user": "reader"}}',
    "api_key={}",
    "PGPASSWORD={} psql",
    "Driver=x;PWD={{{}}};Server=db",
    "create user reader password '{}'",
    "alter user reader identified by '{}'",
    "where client_secret <> '{}'",
    "Authorization: Bearer {}",
    "secret_access_key: {}",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
]
plain = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=12, max_size=24)
NOT_SHOWN: tuple[Literal["C"]] = ("C",)
shown = st.characters(exclude_characters=MARK, exclude_categories=NOT_SHOWN)
anything = st.text(shown, min_size=4, max_size=24).filter(str.strip)


@pytest.mark.parametrize("text", ORDINARY)
def test_a_text_without_credentials_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
    assert redact(text, ["postgresql://reader:f0rty-two@db/books"]) == text


@pytest.mark.parametrize("shape", WRITTEN)
@given(secret=plain)
def test_what_looks_like_a_credential_is_taken_out_though_nobody_knows_it(shape: str, secret: str) -> None:
    assume(secret not in shape)  # a part of the word beside it is no secret
    said = redact(shape.format(secret))
    assert secret not in said
    assert MARK in said
    assert redact(said) == said


@given(anything, st.text(max_size=20), st.text(max_size=20))
@example("p@ss:w/rd", "", "")
@example("it's 100%", "'", "'")
@example(r"back\slash", "", "")
def test_a_known_password_is_taken_out_however_it_is_written(password: str, before: str, after: str) -> None:
    encoded = quote(password, safe="")
    for uri in (f"postgresql://reader:{encoded}@db/books", f"postgresql://reader:{password}@db/books"):
        for form in (uri, encoded, password, password.replace("'", "''")):
            assert form not in redact(f"{before}{form}{after}", [uri])


@given(password=anything.filter(lambda password: "'" not in password and "\\" not in password))
def test_the_password_of_keywords_and_values_is_known_too(password: str) -> None:
    assert password not in redact(f"no role {password} here", [f"host=db user=reader password='{password}'"])
    encoded = quote(password, safe="")
    assert password not in redact(f"no role {password} here", [f"postgresql://db/books?password={encoded}"])


def test_a_password_with_escaped_quotes_is_known() -> None:
    assert redact("it's refused", [r"host=db password='it\'s'"]) == f"{MARK} refused"


def test_a_short_secret_is_taken_out_where_it_stands_alone() -> None:
    uri = "postgresql://reader:gl@db/books"
    assert redact("gl: no such role 'gl' for the glass", [uri]) == f"{MARK}: no such role '{MARK}' for the glass"
    assert redact("gl/*.csv", ["."]) == "gl/*.csv"


def test_a_value_is_judged_by_its_name() -> None:
    assert redact_value("api_key", "harmless") == MARK
    assert redact_value("company", "harmless") == "harmless"
    assert redact_value("company", "postgresql://reader:secret@db") == f"postgresql://{MARK}@db"


def test_the_secrets_are_what_the_environment_holds_for_the_sources() -> None:
    sources = [
        FeedSource(key="erp", kind=SourceKind.POSTGRESQL, environment="ERP_URI"),
        FeedSource(key="drop", kind=SourceKind.FOLDER, environment="DROP_FOLDER"),
        FeedSource(key="files", kind=SourceKind.FOLDER, path="data"),
        FeedSource(key="unset", kind=SourceKind.POSTGRESQL, environment="NOBODY"),
    ]
    held = {"ERP_URI": "postgresql://reader:f0rty-two@db/books", "DROP_FOLDER": " ", "OTHER": "not asked"}
    assert secrets_of(sources, held) == ("postgresql://reader:f0rty-two@db/books",)
