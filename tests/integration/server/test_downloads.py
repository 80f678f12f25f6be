"""Downloads: a result of a call as a file over a link, by whoever has the link and as long as its owner may see it."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from server.stores.memory import new_reference
from tests.integration.server.test_stores_down import valkey
from tests.support.answers.workbooks import cells, grid
from tests.support.service.issuers import Issuer
from tests.support.service.pauses import paused
from tests.support.service.servers import McpBooks, Server, connected, free_port, serving, wait_for
from tests.support.service.users import HOST, ORIGIN, PROFILES, RawRequest, call, result, serving_many, write_books

FINANCE: dict[str, Any] = {"groups": ["finance"]}
NORTH: dict[str, Any] = {"groups": None, "realm_access": {"roles": ["north"]}}
ACTUAL = [{"scenario": "actual", "alias": "Actuals"}]
ASKED = {"statement": "pnl", "scenarios": ACTUAL, "period_start": "2021-01", "period_end": "2021-02"}
UNKNOWN = {"data_ref": new_reference(), "format": "json"}


def get(url: str, method: str = "GET", **headers: str) -> httpx2.Response:
    """Open a link."""
    return httpx2.request(method, url, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_a_statement_is_exported_to_json_as_it_was_answered(books: McpBooks) -> None:
    report = books.ask("run_statement", **ASKED)
    made = books.ask("export_dataset", data_ref=report["data_ref"], format="json")
    answer = get(made["download_url"])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == 'attachment; filename="Pnl.json"'
    assert len(answer.content) == made["size_bytes"]
    document = answer.json()
    assert document["made_for"] == "dev"
    for key in ("statement", "label", "currency", "scale", "freshness", "catalogue_version", "data_version", "dataset"):
        assert document[key] == report[key]
    for axis, names in (("rows", ("key", "label", "level", "unit", "values")), ("columns", ("alias", "scenario"))):
        assert [[part[name] for name in names] for part in document[axis]] == [
            [part[name] for name in names] for part in report[axis]
        ]


def test_a_report_is_exported_to_a_workbook_that_holds_its_figures(books: McpBooks, tmp_path: Path) -> None:
    report = books.ask("run_statement", **ASKED)
    made = books.ask("export_dataset", data_ref=report["data_ref"], format="xlsx")
    (tmp_path / made["name"]).write_bytes(get(made["download_url"]).content)
    assert [row[0] for row in grid(tmp_path / made["name"])[1:]] == [row["label"] for row in report["rows"]]
    written = cells(tmp_path / made["name"])
    for at, row in enumerate(report["rows"], 2):
        assert [Decimal(written[f"C{at}"][1])] == [Decimal(str(value)) for value in row["values"]]


def test_rows_are_exported_whole_though_the_answer_shows_fewer(demo: McpBooks) -> None:
    rows = demo.ask("inspect_rows", source_key="gl", scenario_id="actual", period_start="2026-09", limit=3000)
    assert rows["agent_truncated"]
    made = demo.ask("export_dataset", data_ref=rows["data_ref"], format="json")
    assert len(get(made["download_url"]).json()["rows"]) == rows["row_count"] > len(rows["rows"])


def test_a_link_gives_ranges_and_its_head(books: McpBooks) -> None:
    reference = books.ask("run_statement", **ASKED)["data_ref"]
    url = books.ask("export_dataset", data_ref=reference, format="json")["download_url"]
    whole = get(url).content
    head = get(url, "HEAD")
    assert (head.status_code, head.content, int(head.headers["content-length"])) == (200, b"", len(whole))
    part = get(url, Range="bytes=10-19")
    assert (part.status_code, part.content) == (206, whole[10:20])
    assert get(url, Range="bytes=-5").content == whole[-5:]
    assert get(url, Range=f"bytes={len(whole)}-").status_code == 416
    assert get(url, "POST").status_code == 405
    assert get(url, "PUT").status_code == 405


def test_a_link_is_renewed_and_says_where_it_opens(books: McpBooks) -> None:
    reference = books.ask("run_statement", **ASKED)["data_ref"]
    made = books.ask("export_dataset", data_ref=reference, format="json")
    again = books.ask("get_file_download", file_id=made["file_id"])
    assert {key: again[key] for key in ("file_id", "name", "sha256")} == {
        key: made[key] for key in ("file_id", "name", "sha256")
    }
    assert get(again["download_url"]).content == get(made["download_url"]).content
    assert "machine of the server" in made["reachable_from"]


@pytest.mark.parametrize(
    ("tool", "asked", "error_type", "words"),
    [
        (
            "export_dataset",
            {"data_ref": new_reference(), "format": "json"},
            "expired_reference",
            "Run the report again",
        ),
        ("export_dataset", {"data_ref": "../../etc/passwd", "format": "json"}, "expired_reference", "Run the report"),
        ("export_dataset", UNKNOWN | {"format": "csv"}, "bad_arguments", "'json' or 'xlsx'"),
        ("export_dataset", {"format": "json"}, "bad_arguments", "data_ref"),
        ("get_file_download", {"file_id": "a" * 32}, "unknown_file", "export_dataset"),
        ("get_file_download", {"file_id": "../signing.key"}, "unknown_file", "export_dataset"),
        ("get_file_download", {"file_id": "x\0y"}, "unknown_file", "export_dataset"),
    ],
)
def test_what_cannot_be_exported_or_opened_is_refused_with_what_to_do(
    books: McpBooks, tool: str, asked: Mapping[str, Any], error_type: str, words: str
) -> None:
    called = books.call(tool, **asked)
    assert called.is_error
    assert called.result["error_type"] == error_type
    assert words in called.result["error"]


@pytest.mark.parametrize("change", ["signature", "owner", "ends", "file", "none"])
def test_a_link_that_was_changed_opens_nothing(books: McpBooks, change: str) -> None:
    reference = books.ask("run_statement", **ASKED)["data_ref"]
    url = books.ask("export_dataset", data_ref=reference, format="json")["download_url"]
    head, _, query = url.partition("?")
    wrong = {
        "signature": url.replace("signature=", "signature=0"),
        "owner": url.replace("owner=", "owner=0"),
        "ends": url.replace("ends=", "ends=9"),
        "file": f"{head[:-1]}{'0' if head[-1] != '0' else '1'}?{query}",
        "none": head,
    }[change]
    answer = get(wrong)
    assert answer.status_code == 404
    assert "get_file_download" in answer.json()["error"]


def test_a_link_that_is_over_says_so_and_a_file_that_is_over_is_gone(small_instance: tuple[Path, Path]) -> None:
    with serving(*small_instance, SVC_LINK_SECONDS="1") as server, connected(server.url, "auto") as books:
        reference = books.ask("run_statement", **ASKED)["data_ref"]
        url = books.ask("export_dataset", data_ref=reference, format="json")["download_url"]
        wait_for(lambda: get(url).status_code == 410)
        assert "get_file_download returns a new one" in get(url).json()["error"]
    with serving(*small_instance, SVC_FILE_SECONDS="1") as server, connected(server.url, "auto") as books:
        reference = books.ask("run_statement", **ASKED)["data_ref"]
        made = books.ask("export_dataset", data_ref=reference, format="json")
        wait_for(lambda: books.call("get_file_download", file_id=made["file_id"]).is_error)
        assert books.call("get_file_download", file_id=made["file_id"]).result["error_type"] == "unknown_file"
        assert get(made["download_url"]).status_code in (404, 410)


def test_files_beyond_the_quota_are_refused(small_instance: tuple[Path, Path]) -> None:
    with serving(*small_instance, SVC_QUOTA_MEGABYTES="1") as server, connected(server.url, "auto") as books:
        long = [{"scenario": "actual", "alias": f"{at:x>200}"} for at in range(50)]
        wide = books.ask("run_metric", metrics=["revenue"], scenarios=long, period_start="2021-01")

        def full() -> bool:
            called = books.call("export_dataset", data_ref=wide["data_ref"], format="json")
            if called.is_error:
                assert called.result["error_type"] == "quota_exceeded"
                assert "Your files would be more than 1 MB" in called.result["error"]
            return called.is_error

        wait_for(full)


def test_no_link_stands_in_a_log(small_instance: tuple[Path, Path]) -> None:
    with serving(*small_instance) as server, connected(server.url, "auto") as books:
        reference = books.ask("run_statement", **ASKED)["data_ref"]
        url = books.ask("export_dataset", data_ref=reference, format="json")["download_url"]
        assert get(url).status_code == 200
        assert get(url + "0").status_code == 404
        signature = url.rpartition("signature=")[2]
        log = server.log.read_text() + server.log.with_suffix(".out").read_text()
    assert signature not in log
    assert reference not in log


@pytest.fixture
def many(issuer: Issuer, tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A server of many users whose profiles a test may change, and its instance."""
    books = write_books(tmp_path)
    with serving_many(books, issuer.url) as server:
        yield server, books[0]


def ask(server: Server, token: str, tool: str, **arguments: Any) -> Mapping[str, Any]:
    """Call a tool with a token."""
    return result(RawRequest(server.url).post(token, call(tool, json.dumps(arguments))))


def exported(server: Server, token: str) -> tuple[str, Mapping[str, Any]]:
    """Export a statement; return its reference and what was made."""
    reference = ask(server, token, "run_statement", statement="pnl", scenarios=ACTUAL, period_start="2026-01")[
        "data_ref"
    ]
    return reference, ask(server, token, "export_dataset", data_ref=reference, format="json")


def here(server: Server, url: str) -> str:
    """Return a link of the public origin as it is reached on this machine."""
    assert url.startswith(ORIGIN)
    return f"http://{urlsplit(server.url).netloc}{url.removeprefix(ORIGIN)}"


def test_nobody_opens_what_another_keeps(many: tuple[Server, Path], issuer: Issuer) -> None:
    server, _ = many
    ann, bob = issuer.token(sub="ann", **FINANCE), issuer.token(sub="bob", **FINANCE)
    reference, made = exported(server, ann)
    assert "reachable_from" not in made
    unknown = ask(server, bob, "export_dataset", data_ref=new_reference(), format="json")
    assert unknown["error_type"] == "expired_reference"
    refused = ask(server, bob, "export_dataset", data_ref=reference, format="json")
    assert refused == {**unknown, "got": reference}
    refused = {**ask(server, bob, "get_file_download", file_id="f" * 32), "got": made["file_id"]}
    assert ask(server, bob, "get_file_download", file_id=made["file_id"]) == refused
    assert ask(server, ann, "get_file_download", file_id=made["file_id"])["sha256"] == made["sha256"]
    assert get(here(server, made["download_url"]), Host=HOST).status_code == 200


def test_whoever_may_see_less_now_opens_nothing_that_was_made_of_more(
    many: tuple[Server, Path], issuer: Issuer
) -> None:
    server, _ = many
    reference, made = exported(server, issuer.token(sub="ann", **FINANCE))
    url = here(server, made["download_url"])
    narrow = issuer.token(sub="ann", **NORTH)
    assert get(url, Host=HOST).status_code == 200
    refused = ask(server, narrow, "export_dataset", data_ref=reference, format="xlsx")
    assert refused["error_type"] == "expired_reference"
    wait_for(lambda: get(url, Host=HOST).status_code == 404)  # what her token said last is what counts
    assert ask(server, narrow, "get_file_download", file_id=made["file_id"])["error_type"] == "unknown_file"
    ask(server, issuer.token(sub="ann", **FINANCE), "list_scenarios")
    wait_for(lambda: get(url, Host=HOST).status_code == 200)


def test_a_link_opens_nothing_once_its_owners_profile_is_withdrawn(many: tuple[Server, Path], issuer: Issuer) -> None:
    server, instance = many
    token = issuer.token(sub="ann", **FINANCE)
    _, made = exported(server, token)
    url = here(server, made["download_url"])
    (instance / "profiles.yaml").write_text(PROFILES.replace("groups: finance", "groups: board"))
    wait_for(lambda: get(url, Host=HOST).status_code == 404)
    (instance / "profiles.yaml").write_text(PROFILES)
    wait_for(lambda: get(url, Host=HOST).status_code == 200)


def test_a_link_opens_nothing_once_what_its_owners_token_said_is_too_old(issuer: Issuer, tmp_path: Path) -> None:
    with serving_many(write_books(tmp_path), issuer.url, SVC_CLAIMS_MAX_AGE="1") as server:
        token = issuer.token(sub="ann", **FINANCE)
        _, made = exported(server, token)
        url = here(server, made["download_url"])
        wait_for(lambda: get(url, Host=HOST).status_code == 404)
        again = ask(server, token, "get_file_download", file_id=made["file_id"])
        assert get(here(server, again["download_url"]), Host=HOST).status_code == 200


def test_without_a_cache_store_a_report_has_no_reference_and_has_one_again_when_it_is_back(
    small_instance: tuple[Path, Path],
) -> None:
    port = free_port()
    with (
        serving(*small_instance, healthy=False, CACHE_HOST=f"127.0.0.1:{port}") as server,
        connected(server.url, "auto") as books,
    ):
        for _ in range(2):
            report = books.ask("run_statement", **ASKED)
            assert "data_ref" not in report
            assert report["dataset_available"] is False
            assert "snapshot_unavailable" in [note["code"] for note in report["notes"]]
            assert len(report["rows"]) == 2
            with valkey(port):
                wait_for(lambda: "data_ref" in books.ask("run_statement", **ASKED))


def test_a_report_that_the_cache_store_does_not_confirm_has_no_reference(small_instance: tuple[Path, Path]) -> None:
    port = free_port()
    with (
        valkey(port) as store,
        serving(*small_instance, CACHE_HOST=f"127.0.0.1:{port}") as server,
        connected(server.url, "auto") as books,
    ):
        kept = books.ask("run_statement", **ASKED)
        with paused(store):  # it takes what is sent, and the answer is made meanwhile
            report = books.ask("run_statement", **ASKED)
        assert "data_ref" not in report
        assert report["dataset_available"] is False
        assert [note["code"] for note in report["notes"]] == [
            *(note["code"] for note in kept["notes"]),
            "snapshot_unavailable",
        ]
        assert report["rows"] == kept["rows"]
        wait_for(lambda: "data_ref" in books.ask("run_statement", **ASKED))
