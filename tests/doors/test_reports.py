"""Cases from public bug reports: an instance each, what is asked of it, and the figures that are right."""

import shutil
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.ingest.load import BindingFailed
from tests.doors.case_books import (
    CASES,
    CaseBooks,
    asked_of,
    bounds,
    codes,
    copy_case,
    members,
    number,
    opened,
    parameters,
    read_case,
    served_books,
)
from tests.doors.not_yet import REPORTS
from tests.doors.questions import by_member, check_functions, check_shares, check_threshold
from tests.support.answers.drills import calls, figure_behind
from tests.support.books.newcomer import initialised
from tests.support.service.forks import tieout
from tests.support.service.issuers import DISCOVERY, issuing
from tests.support.service.servers import McpBooks
from tests.support.service.users import ORIGIN, SIGNING_KEY, RawRequest, result, serving_many, write_books

GROUP = CASES / "reports"
LEDGER_MONTHS = ("2026-01", "2026-02", "2026-03")


def rejected(books: CaseBooks) -> int:
    """Return how many rows a load rejected."""
    return sum(result.rejects.height for result in books.loads)


def names_of(books: CaseBooks, dimension: str) -> dict[str, str]:
    """Return the names of the members of a dimension."""
    return {each["id"]: each["name"] for each in books.fed.ask("search_hierarchy", dimension=dimension)["records"]}


def check_workbook(folder: Path, expected: dict[str, Any]) -> None:
    """Amounts of a workbook keep their cents; init proposes the places that the cells have."""
    books = CaseBooks(folder)
    found = books.figures("amount_all", "2026-01..2026-02", dimensions=["account", "period"])
    for cell, text in expected["by account and month"].items():
        assert found[tuple(cell.split())] == Decimal(text)
    assert books.figure("amount_all", "2026-01..2026-02") == Decimal(expected["total"])
    assert rejected(books) == 0
    proposed = folder.parent / "proposed"
    assert initialised(proposed, folder / "data" / "gl.xlsx") == 0
    (domain,) = (proposed / "domains").glob("*.yaml")
    (measure,) = yaml.safe_load(domain.read_text(encoding="utf-8"))["measures"].values()
    assert measure["places"] == 2


def check_time_stamps(folder: Path, expected: dict[str, Any]) -> None:
    """Time stamps count on their day as written, or the refusal says which key reads them; init takes the column."""
    books = opened(folder)
    if isinstance(books, str):
        assert "time" in books
        assert "dates:" in books
    else:
        found = books.figures("sales", "2026-01..2026-02", dimensions=["period"])
        assert {key: found[key] for key in by_member(expected["by month"])} == by_member(expected["by month"])
    assert initialised(folder.parent / "proposed", folder / "data" / "gl.csv") == 0


def check_encodings(folder: Path, expected: dict[str, Any]) -> None:
    """Names are read as they are, or the load asks for the encoding and takes it."""
    books = opened(folder)
    if isinstance(books, str):
        assert "encoding" in books
        path = folder / "integrations.yaml"
        feeds = yaml.safe_load(path.read_text(encoding="utf-8"))
        feeds["bindings"]["account"]["csv"] = {"encoding": "cp1250"}
        path.write_text(yaml.safe_dump(feeds), encoding="utf-8")
        books = CaseBooks(folder)
    assert names_of(books, "account") == expected["names"]


def check_even_split(folder: Path, expected: dict[str, Any]) -> None:
    """Equal parts of a leaf under two nodes add up; without `paths: add` the tree is refused."""
    books = CaseBooks(folder)
    found = books.figures("cost", "2026-02", dimensions=["split"])
    for node, text in expected["by split"].items():
        assert found[(node,)] == Decimal(text)
    assert found[("Total",)] == Decimal(expected["total"])
    for nodes, total in (["NORD", "SUED"], "filter of all departments"), (["TOTAL"], "filter TOTAL"):
        assert books.figure("cost", "2026-02", filters={"split": nodes}) == Decimal(expected[total])
    path = folder / "dimensions.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("paths: add", "paths: refuse"), encoding="utf-8")
    with pytest.raises(BindingFailed, match="SHARED"):
        CaseBooks(folder)


def check_first_opening(folder: Path, expected: dict[str, Any]) -> None:
    """The first opening of closing balances is unknown, also within a formula."""
    books = CaseBooks(folder)
    found = books.figures("cash_from_stock", "2026-01..2026-03", dimensions=["period"])
    assert [found[(month,)] for month in LEDGER_MONTHS] == [number(expected[month]) for month in LEDGER_MONTHS]
    answer = books.ask("run_metric", "2026-01..2026-03", metrics=["cash_from_stock"])
    assert answer["rows"][-1]["values"] == [expected["range"]]
    assert "outside_books" in codes(answer)
    columns = [{"scenario": scenario} for scenario in ("var(actual,actual@opening)", "actual@opening")]
    range_of_case = {"period_start": LEDGER_MONTHS[0], "period_end": LEDGER_MONTHS[-1]}
    asked = {"scenarios": columns, "dimensions": ["period"], **range_of_case}
    with served_books(folder) as served:
        movements = served.ask("run_metric_data", metrics=["stock_close"], **asked)
    changes = [number(row["values"][0]) for row in movements["rows"]]
    cash = [number(expected[key]) for key in (*LEDGER_MONTHS, "range")]
    assert changes == [None if amount is None else -amount for amount in cash]
    assert [number(row["values"][1]) for row in movements["rows"]] == [None, Decimal("512.2"), Decimal("498.75"), None]
    assert "outside_books" in codes(movements)


def check_late_operand(folder: Path, expected: dict[str, Any]) -> None:
    """A formula is blank where an operand is not loaded; over a part that is, a note names what lacks."""
    books = CaseBooks(folder)
    for scenario, key in (
        ("actual", "actual 2026-03"),
        ("budget", "budget 2026-03"),
        ("var(actual,budget)", "var 2026-03"),
    ):
        assert books.figure("surplus", "2026-03", scenario) == number(expected[key]), key
    alone = books.ask("run_metric", "2026-03", metrics=["surplus"])
    assert any("wage" in note["message"] for note in alone["notes"])
    quarter = books.ask("run_metric", "2026-01..2026-03", metrics=["surplus"])
    assert quarter["rows"][-1]["values"][0] in (None, 3099)
    assert any("wage" in note["message"] for note in quarter["notes"])


def check_own_words(folder: Path, _expected: dict[str, Any]) -> None:
    """Ids in parentheses that the product itself uses are rejected by name."""
    books = opened(folder)
    if isinstance(books, str):
        assert "(others)" in books
    else:
        assert rejected(books) == 2
        assert books.figure("sales", "2026-01") == 11 + 50 + 20


def check_renamed_condition(folder: Path, expected: dict[str, Any]) -> None:
    """A load tells that no member meets a condition any more, and so does a note on what uses the metric."""
    state = str(folder / ".tieout")
    assert tieout("load", "--instance", folder, SVC_STATE_DIR=state).returncode == 0
    books = CaseBooks(folder)
    assert books.figure("rest", "2026-01") == Decimal(expected["rest before"])
    shutil.copy(folder / "data" / "account_after.csv", folder / "data" / "account.csv")
    loaded = tieout("load", "--instance", folder, SVC_STATE_DIR=state)
    told = " ".join((loaded.stdout + loaded.stderr).split())
    assert all(word in told for word in ("part", "Fees", "class"))
    answer = CaseBooks(folder).ask("run_metric", "2026-01", metrics=["rest"])
    assert answer["rows"][-1]["values"][0] is None or "condition_unmet" in codes(answer)


def check_same_heading(folder: Path, _expected: dict[str, Any]) -> None:
    """Two columns of one name are refused by both, with how to choose one."""
    with pytest.raises(BindingFailed, match=r"amount.*(twice|two columns|2 columns)"):
        CaseBooks(folder)


def check_shared_rows(folder: Path, expected: dict[str, Any]) -> None:
    """Rows that share leaves carry a note with the amount that counts twice."""
    books = CaseBooks(folder)
    found = books.figures("sales", "2026-01", dimensions=["groups"])
    for key, text in {"Export": "103", "Key": "53"}.items():
        assert found[(key,)] == Decimal(text) == Decimal(expected[key])
    assert found[("Total",)] == Decimal(expected["total"])
    answer = books.ask("run_metric", "2026-01", metrics=["sales"], dimensions=["groups"])
    assert any("33" in note["message"] for note in answer["notes"])


def check_sqlite(folder: Path, expected: dict[str, Any]) -> None:
    """Amounts of SQLite keep their digits, or the load says cast(amount as text)."""
    books = opened(folder)
    if isinstance(books, str):
        assert "cast(amount as text)" in books
        return
    assert books.figure("amount_all", "2000-01..2030-12") == Decimal(expected["total"])
    found = books.figures("amount_all", "2000-01..2030-12", dimensions=["account"])
    accounts = by_member(expected.get("by account", {}))
    assert {key: found[key] for key in accounts} == accounts


def check_rolling(folder: Path, expected: dict[str, Any]) -> None:
    """The last three months over HTTP, month by month, with a note on those that begin before the books."""
    asked = {"metrics": ["sales"], "scenarios": [{"scenario": "actual@last3", "alias": "R"}], "dimensions": ["period"]}
    with served_books(folder) as books:
        answer = books.ask("run_metric_data", **asked, period_start="2025-11", period_end="2026-05")
        before = books.ask("run_metric_data", **asked, period_start="2025-10")
        of_mean = {"metrics": ["sales"], "scenarios": [{"scenario": "actual@avg3"}]}
        means = {
            month: number(books.ask("run_metric_data", **of_mean, period_start=month)["rows"][-1]["values"][0])
            for month in ("2025-12", "2026-02", "2026-05")
        }
    found = {row["members"].get("period"): number(row["values"][0]) for row in answer["rows"]}
    in_books = {"2025-11": Decimal(12), "2025-12": Decimal(19)}  # the case allows a figure with the note
    known = {month: number(text) for month, text in expected["sum"].items()}
    assert found == known | in_books | {None: known["2026-05"]}
    (note,) = [note for note in answer["notes"] if note["code"] == "short_window"]
    assert note["message"] == (
        "actual@last3 of gl begins before the books: 1 of 3 months in 2025-11, 2 of 3 months in 2025-12."
    )
    sums = {month: Decimal(expected["sum"][month]) for month in ("2026-02", "2026-05")}
    assert means == {"2025-12": None, **{month: Context(prec=15).divide(each, 3) for month, each in sums.items()}}
    assert [row["values"][0] for row in before["rows"]] == [None, None]
    assert "outside_books" in codes(before)


def check_same_days(folder: Path, expected: dict[str, Any]) -> None:
    """Days of a month and the same days of the month before over HTTP; a range that overlaps its own is said to."""
    columns = [{"scenario": f"actual{step}", "alias": step or "A"} for step in ("", "@pm", "@pp")]
    days = {"period_start": "2026-03-01", "period_end": "2026-03-12"}
    with served_books(folder) as books:
        answer = books.ask("run_metric_data", metrics=["sales"], scenarios=columns, **days)
        before = books.ask("run_metric_data", metrics=["sales"], scenarios=columns[:2], **days)
        refused = books.call("run_metric_data", metrics=["sales"], scenarios=columns[:2], period_start="2026-Q1")
        views = [{"scenario": "actual@mtd"}, {"scenario": "actual@mtd@pm"}]
        to_date = books.ask("run_metric_data", metrics=["sales"], scenarios=views, period_start="2026-03-12")
    actual, month_before, _ = (number(value) for value in answer["rows"][-1]["values"])
    assert actual == Decimal(expected["month to date"])
    assert month_before == Decimal(expected["month before"])
    assert [number(value) for value in to_date["rows"][-1]["values"]] == [actual, month_before]
    assert before.get("notes", []) == []
    (note,) = [note for note in answer["notes"] if note["code"] == "range_overlaps"]
    assert (note["scenario"], "actual@pp12 is the 12 dates before it." in note["message"]) == ("actual@pp", True)
    assert (refused.result["error_type"], refused.result["example"]["scenarios"]) == (
        "bad_arguments",
        [{"scenario": "actual"}, {"scenario": "actual@pp"}],
    )


def check_text_arguments(folder: Path, expected: dict[str, Any]) -> None:
    """Lists and objects sent as JSON text are read as what they are, unless a member has that very name."""
    books = CaseBooks(folder)
    for ask, key in zip(read_case(GROUP / "text_arguments" / "case.json")["ask"], expected, strict=False):
        answer = books.fed.ask(ask["tool"], **ask["arguments"])
        assert number(answer["rows"][-1]["values"][0]) == Decimal(expected[key])
    path = folder / "data" / "gl.csv"
    path.write_text(path.read_text(encoding="utf-8") + '2026-01-02,"[""G1"", ""G2""]",100\n', encoding="utf-8")
    assert CaseBooks(folder).figure("sales", "2026-01", filters={"region": '["G1", "G2"]'}) == 100


def check_coarse_budget(folder: Path, _expected: dict[str, Any]) -> None:
    """A budget by quarter answers quarters in the domain of actuals by month."""
    books = CaseBooks(folder)
    assert rejected(books) == 0
    assert books.figure("sales", "2026-Q1", "budget") == 300


def check_moved_centre(folder: Path, _expected: dict[str, Any]) -> None:
    """Columns of validity are refused by name while they are not read."""
    books = opened(folder)
    assert isinstance(books, str), "valid_from is passed over without a word"
    assert "valid_from" in books


def check_tokens(folder: Path, expected: dict[str, Any]) -> None:
    """A token of each provider opens the books over HTTP with settings that name what it has, and no other does."""
    books = write_books(folder)
    for row in expected["rows"]:
        scope, audience = row["scp"], row["aud"]
        settings = {
            "SVC_OIDC_PROVIDER": "entra",
            "SVC_OIDC_AUDIENCES": audience,
            "SVC_OIDC_SCOPE": scope,
            "SVC_OIDC_ASK_SCOPE": row["advertised scope"],
        }
        claims = {"iss": row["iss"], "aud": audience, "scp": scope, "ver": "2.0", "scope": None}
        wrong = {"aud": "other", "scp": "other", "nonce": "n", "ver": "1.0", "exp": None, "iss": "other"}
        with issuing() as issuer:
            issuer.metadata["issuer"] = row["iss"]
            settings["SVC_OIDC_DISCOVERY"] = issuer.url + DISCOVERY
            (folder / "token").write_text(issuer.token(header=row["header"], **claims), encoding="utf-8")
            with serving_many(books, row["iss"], **settings) as server:
                asking = RawRequest(server.url)
                assert result(asking.post(issuer.token(header=row["header"], **claims)))["scenarios"]
                for name, value in wrong.items():
                    refused = asking.post(issuer.token(header=row["header"], **{**claims, name: value}))
                    assert refused.status_code == (403 if name == "scp" else 401), name
                assert f'scope="{row["advertised scope"]}"' in refused.headers["WWW-Authenticate"]
            told = {"SVC_BASE_URL": ORIGIN, "SVC_OIDC_ISSUER": row["iss"], "ARTIFACT_SIGNING_KEY": SIGNING_KEY}
            judged = tieout("token", folder / "token", "--instance", books[0], MCP_DEV_KEY="", **settings, **told)
            assert judged.returncode == 0, judged.stdout + judged.stderr


def declare(folder: Path, domain: str, metrics: str) -> None:
    """Add metrics to a domain, whose rows can be inspected from then on."""
    path = folder / "domains" / f"{domain}.yaml"
    path.write_text(f"{path.read_text(encoding='utf-8').rstrip()}\n{metrics}\ninspect_enabled: true\n")


def figure_with_rows(books: McpBooks, metric: str, period: str) -> Decimal | None:
    """Return the total of a metric, after holding the rows behind it against it."""
    answer = books.ask("run_metric_data", **asked_of(metric, period))
    (row,) = answer["rows"]
    ((_, _, call),) = calls(row, answer["columns"][0])
    assert figure_behind(call, lambda asked: books.ask("inspect_rows", **asked)) == number(row["values"][0])
    return number(row["values"][0])


def check_without_closing(folder: Path, expected: dict[str, Any]) -> None:
    """A metric excludes a journal, and a new journal counts by itself."""
    where = "where: {account: S, journal: {exclude: [CLOSE]}}"
    declare(folder, "gl", f"  revenue: {{measure: amount, {where}, sign: negate}}")
    with served_books(folder) as books:
        assert figure_with_rows(books, "revenue", "2025") == Decimal(expected["2025"])
        assert figure_with_rows(books, "booked", "2025") == Decimal(expected["booked 2025"])
        (domain,) = books.ask("list_kpis")["domains"]
        (said,) = (each for each in domain["metrics"] if each["key"] == "revenue")
        assert said["where"] == {"account": ["S"], "journal": {"exclude": ["CLOSE"]}}
    path = folder / "data" / "gl.csv"
    path.write_text(path.read_text(encoding="utf-8") + "2025-12-31,S,LATE,-7\n2025-12-31,S,,-0.50\n", encoding="utf-8")
    assert CaseBooks(folder).figure("revenue", "2025") == Decimal(expected["2025"]) + Decimal("7.50")


def check_lowest_balance(folder: Path, expected: dict[str, Any]) -> None:
    """The least and the largest day of all accounts together, its rows, and the least of one account."""
    metrics = [f"  {rule}: {{measure: amount, over_time: {rule}}}" for rule in ("lowest", "highest")]
    declare(folder, "bank", "\n".join(metrics))
    with served_books(folder) as books:
        for rule in ("lowest", "highest"):
            assert figure_with_rows(books, rule, "2026-01") == Decimal(expected[rule])
            asked = {"source_key": "bank", "scenario_id": "actual", **bounds("2026-01"), "filters": {"metric": rule}}
            rows = books.ask("inspect_rows", **asked)["rows"]
            assert {row[0] for row in rows} == {expected[f"{rule} day"]}
        by_account = books.ask("run_metric_data", **asked_of("lowest", "2026-01", dimensions=["account"]))
        found = {members(row): number(row["values"][0]) for row in by_account["rows"]}
    assert found[("X",)] == Decimal(expected["lowest of X"])
    assert found[("Total",)] == Decimal(expected["lowest"])


def check_median(folder: Path, expected: dict[str, Any]) -> None:
    """The median by site and in total, which is not the median of medians, and the rows behind it."""
    declare(folder, "gl", "  typical: {measure: amount, over_members: median}")
    with served_books(folder) as books:
        by_site = books.ask("run_metric_data", **asked_of("typical", "2026-01", dimensions=["site"]))
        found = {members(row): number(row["values"][0]) for row in by_site["rows"]}
        assert figure_with_rows(books, "typical", "2026-01") == Decimal(expected["total"])
    assert found == {(site,): Decimal(expected[site]) for site in ("E1", "E2")} | {
        ("Total",): Decimal(expected["total"])
    }


def check_per_day(folder: Path, expected: dict[str, Any]) -> None:
    """Sales a day by site: the days are the same for each, in the total and under a filter, and their rows tie."""
    for domain, known, told in (
        ("cal", "{measure: days}", "{measure: days, repeats: true}"),
        ("gl", "sales: {measure: amount}", "sales: {measure: amount}"),
    ):
        path = folder / "domains" / f"{domain}.yaml"
        path.write_text(f"{path.read_text().replace(known, told).rstrip()}\ninspect_enabled: true\n")
    figures = {site: Fraction(expected[site]) for site in ("Lyon", "Graz")} | {"Total": Fraction(expected["total"])}
    with served_books(folder) as books:
        asked = asked_of("per_day", "2026-01..2026-02")
        by_site = books.ask("run_metric_data", **asked, dimensions=["site"])
        found = {members(row)[0]: row["values"][0] for row in by_site["rows"]}
        assert found == {key: pytest.approx(float(figure), rel=1e-14) for key, figure in figures.items()}
        assert "whole" in codes(by_site)
        filtered = books.ask("run_metric_data", **asked, filters={"site": ["Graz"]})
        assert filtered["rows"][0]["values"][0] == found["Graz"]
        for answer in (by_site, filtered):
            for row in answer["rows"]:
                over, under = (
                    figure_behind(call, lambda given: books.ask("inspect_rows", **given))
                    for _, _, call in calls(row, answer["columns"][0])
                )
                assert over is not None
                assert row["values"][0] == pytest.approx(float(over / Decimal(under or 0)), rel=1e-14)


def check_nothing(_folder: Path, expected: dict[str, Any]) -> None:
    """Fail: no call asks for this yet. Who adds one writes the check of the case in place of this."""
    pytest.fail(f"no call asks for {expected}")


CHECKS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "balance_side": check_nothing,
    "coarse_budget": check_coarse_budget,
    "day_with_time": check_time_stamps,
    "encodings": check_encodings,
    "even_split": check_even_split,
    "first_opening": check_first_opening,
    "functions": check_functions,
    "late_operand": check_late_operand,
    "lowest_balance": check_lowest_balance,
    "median": check_median,
    "moved_centre": check_moved_centre,
    "own_words": check_own_words,
    "per_day": check_per_day,
    "renamed_condition": check_renamed_condition,
    "rolling": check_rolling,
    "same_days": check_same_days,
    "same_heading": check_same_heading,
    "shared_rows": check_shared_rows,
    "shares": check_shares,
    "sqlite_text": check_sqlite,
    "sqlite_whole_first": check_sqlite,
    "text_arguments": check_text_arguments,
    "threshold": check_threshold,
    "tokens": check_tokens,
    "without_closing": check_without_closing,
    "xlsx_cents": check_workbook,
}


@pytest.mark.parametrize("case", parameters("reports", CHECKS, REPORTS))
def test_what_a_report_asked_for_is_right(case: str, tmp_path: Path) -> None:
    folder = GROUP / case / "instance"
    books = copy_case(folder, tmp_path) if folder.is_dir() else tmp_path
    CHECKS[case](books, read_case(GROUP / case / "case.json")["expected"])
