"""Feeds whose schedule, mode, periods or parameters do not go together, each named with its line and a way out."""

from pathlib import Path
from textwrap import indent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.load_modes import LoadMode
from server.feeds.bindings import cron_fault
from server.feeds.feeds import Binding, Schedule
from server.feeds.instance import read_instance
from tests.unit.engine.instance.test_instance_faults import faults, instance, said

SOURCES = """
sources:
  files: {kind: folder, path: data}
  erp: {kind: postgresql, uri_env: ERP}
bindings:
  gl:
"""
QUERY = "source: erp\ntarget: live.gl\n"
PERIODS = QUERY + "load: replace_periods\n"
FILE = "source: files\ntarget: live.gl\n"
READ = "extract: select * from t where "
ACCOUNT = "source: files\ntarget: live.account\nfile: a.csv\n"
BOUNDED = "extract: select * from t where d >= :period_start and d < :period_end_exclusive\n"


def feeds(gl: str) -> str:
    """Return integrations.yaml of one feed, whose first line is the sixth."""
    return SOURCES.lstrip("\n") + indent(gl, "    ")


def read(folder: Path, gl: str) -> Binding:
    """Return a feed that has no fault."""
    return read_instance(instance(folder, integrations_yaml=feeds(gl))).bindings["gl"]


def test_a_feed_says_its_mode_periods_parameters_and_schedule(tmp_path: Path) -> None:
    extract = READ + "company = :company and d between :period_start and :period_end\n"
    more = "parameters: {company: 0010}\nperiod_column: posted\nrecent_periods: 3\n"
    when = "schedule: 15 5 * * MON-FRI\ntimezone: Europe/Paris\n"
    binding = read(tmp_path, PERIODS + extract + more + when)
    assert binding.mode is LoadMode.REPLACE_PERIODS
    assert binding.schedule == Schedule(cron="15 5 * * MON-FRI", timezone="Europe/Paris")
    assert (binding.period_column, binding.recent_periods) == ("posted", 3)
    assert binding.parameters == {"company": "0010"}


def test_a_feed_that_says_none_of_it_is_loaded_whole_when_somebody_asks(tmp_path: Path) -> None:
    binding = read(tmp_path, FILE + "file: gl.csv\n")
    assert (binding.mode, binding.schedule, binding.parameters) == (LoadMode.FULL, None, {})
    assert (binding.period_column, binding.recent_periods) == (None, 2)
    assert read(tmp_path, FILE + "file: gl.csv\nschedule: 0 6 * * *\n").schedule == Schedule(
        cron="0 6 * * *", timezone="UTC"
    )


def test_a_file_for_each_period_and_a_query_for_each_period_hold(tmp_path: Path) -> None:
    assert read(tmp_path, FILE + "file: 'gl_{period}.csv'\nload: replace_periods\n").extract == "gl_{period}.csv"
    assert read(tmp_path, PERIODS + READ + "p = :period\n").mode is LoadMode.REPLACE_PERIODS
    assert read(tmp_path, FILE + "file: gl.csv\nload: append\n").mode is LoadMode.APPEND


@pytest.mark.parametrize(
    ("feed", "line", "says"),
    [
        (
            ACCOUNT + "load: replace_periods",
            9,
            "live.account holds no facts, and tables of members, nodes and rates are loaded whole — leave load out",
        ),
        (ACCOUNT + "load: append", 9, "live.account holds no facts, and tables of members"),
        (
            ACCOUNT + "scenario: actual",
            9,
            "live.account holds no facts, so scenario says nothing — leave scenario out",
        ),
        (ACCOUNT + "unknown_members: reject", 9, "live.account holds no facts, so unknown_members says nothing"),
        (
            QUERY + READ + "a = :company",
            8,
            "the query names :company, and there is no such parameter — known: none",
        ),
        (
            PERIODS + READ + "d >= :period_strat",
            9,
            "the query names :period_strat, and there is no such parameter — did you mean 'period_start'",
        ),
        (
            QUERY + READ + "a = :compny\nparameters: {company: 1}",
            8,
            "there is no such parameter — did you mean 'company'? known: company",
        ),
        (
            QUERY + READ + "true\nparameters:\n  company: 1",
            10,
            "the query does not name :company — known: none",
        ),
        (
            PERIODS + BOUNDED + "parameters: {period_start: 2021-01-01}",
            10,
            "'period_start' is taken: a load of periods fills it with those it asks for",
        ),
        (
            QUERY + READ + "a = $1",
            8,
            "the query has $1, a parameter without a name — name it, as :company, and give company under parameters",
        ),
        (
            QUERY + BOUNDED,
            8,
            "the query asks for :period_start, and load: full asks for no periods — load: replace_periods",
        ),
        (QUERY + BOUNDED + "load: append", 8, "load: append asks for no periods"),
        (
            PERIODS + READ + "d > ':period_start'",
            9,
            "the query names no period, so it would read all of them and have the others rejected — where day >= ",
        ),
        (
            FILE + "file: 'gl_{period}.csv'",
            8,
            "file holds {period}, and load: full asks for no periods — load: replace_periods",
        ),
        (
            FILE + "file: /data/gl.csv",
            8,
            "'/data/gl.csv' is no pattern of files — a name or a pattern within the folder",
        ),
        (FILE + "file: 'gl-**.csv'", 8, "'gl-**.csv' is no pattern of files"),
        (FILE + "file: ''", 8, "'' is no pattern of files"),
        (
            FILE + "file: gl.csv\nparameters: {company: 1}",
            9,
            "parameters are those of a query, and a folder has none — with load: replace_periods, file may hold",
        ),
        (
            FILE + "file: gl.csv\nperiod_column: posted",
            9,
            "load: full asks for no periods, so period_column says nothing — load: replace_periods asks for periods",
        ),
        (
            FILE + "file: gl.csv\nload: append\nrecent_periods: 3",
            10,
            "load: append asks for no periods, so recent_periods",
        ),
        (FILE + "file: gl.csv\nrecent_periods: 0", 9, "recent_periods is below 1 (found '0')"),
        (QUERY + "extract: select 1\nsheet: Ledger", 9, "a database has no sheets"),
        (FILE + "file: gl.csv\nload: replace", 9, "'full', 'replace_periods' or 'append'"),
        (
            FILE + "file: gl.csv\ntimezone: Europe/Paris",
            9,
            "there is no schedule whose time zone this could be — give schedule",
        ),
    ],
)
def test_parts_of_a_feed_that_do_not_go_together(tmp_path: Path, feed: str, line: int, says: str) -> None:
    found = faults(tmp_path, integrations_yaml=feeds(feed + "\n"))
    assert any((fault.file, fault.line) == ("integrations.yaml", line) and says in str(fault) for fault in found), said(
        found
    )


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ("5 * * *", "'5 * * *' is no cron expression: it has 4 parts, not 5 — minute hour day month weekday, such as"),
        ("0 15 5 * * *", "it has 6 parts, not 5"),
        ("'@daily'", "it has 1 parts, not 5"),
        ("60 5 * * *", "bad minute — minute hour day"),
        ("15 5 30 2 *", "bad day-of-month"),
        ("15 5 * * MO", "bad day-of-week"),
    ],
)
def test_a_schedule_that_cron_would_not_take(tmp_path: Path, schedule: str, says: str) -> None:
    (fault,) = faults(tmp_path, integrations_yaml=feeds(FILE + f"file: gl.csv\nschedule: {schedule}\n"))
    assert fault.line == 9
    assert says in str(fault)


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        ("Europe/Pari", "there is no time zone 'Europe/Pari' — did you mean 'Europe/Paris'"),
        ("europe/paris", "did you mean 'Europe/Paris'? a name of the tz database"),
        ("New York", "did you mean 'America/New_York'? "),
        ("../etc/passwd", "there is no time zone '../etc/passwd' — a name of the tz database, such as Europe/Paris"),
    ],
)
def test_a_time_zone_that_does_not_exist(tmp_path: Path, zone: str, says: str) -> None:
    (fault,) = faults(tmp_path, integrations_yaml=feeds(FILE + f"file: g.csv\nschedule: 0 5 * * *\ntimezone: {zone}\n"))
    assert fault.line == 10
    assert says in str(fault)


def test_a_feed_of_rates_holds_no_facts_either(tmp_path: Path) -> None:
    written = yaml.safe_load(feeds(FILE + "file: gl.csv\n"))
    written["bindings"]["gl"]["convert"] = {"rates": "live.fx", "from": "currency", "into": "amount_group"}
    written["bindings"]["fx"] = {"source": "files", "target": "live.fx", "file": "fx.csv", "scenario": "actual"}
    found = said(faults(tmp_path, integrations_yaml=yaml.safe_dump(written)))
    assert "live.fx holds no facts, so scenario says nothing" in found


@given(st.one_of(st.text(), st.lists(st.text("0123456789*/-,#L WMONFRI", min_size=1), min_size=5).map(" ".join)))
def test_whatever_stands_where_a_schedule_should_is_judged(text: str) -> None:
    assert cron_fault(text) is None or cron_fault(text)
