"""Where facts lie: an engine and two users, and each placement that cannot be meant."""

import re
from pathlib import Path

import pytest

from server.feeds.instance import read_instance
from server.feeds.placements import FactsPlacement, WarehouseKind
from tests.unit.engine.instance.test_instance_faults import FILES, faults, instance


def test_facts_name_their_engine_and_two_users(tmp_path: Path) -> None:
    facts = (
        "facts: {engine: clickhouse, url_env: READER, loader_url_env: LOADER, cluster: main, timeout: 2m, lease: 20m}\n"
    )
    text = FILES["instance.yaml"] + facts
    placement = read_instance(instance(tmp_path, instance_yaml=text)).placement
    assert placement == FactsPlacement(
        kind=WarehouseKind.CLICKHOUSE, reader="READER", loader="LOADER", cluster="main", seconds=120, lease=1200
    )
    assert read_instance(instance(tmp_path / "none")).placement is None


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            "engine: postgresql, url_env: A",
            "loads would write to postgresql as the user who reads — give loader",
        ),
        ("engine: flightsql, url_env: A, loader_url_env: A", "loads would write to flightsql as the user who reads"),
        ("engine: duckdb, url_env: A, cluster: main", "duckdb has no named cluster — leave cluster out"),
        ("engine: duckdb, url_env: A, timeout: 20", "facts.timeout .* — a number of seconds or minutes, as 20s or 2m"),
        ("engine: duckdb, url_env: A, lease: none", "facts.lease .* — a number of seconds or minutes, as 15m, or 0s"),
        ("engine: oracle, url_env: A", "'clickhouse', 'flightsql', 'postgresql' or 'duckdb' .found 'oracle'"),
    ],
)
def test_an_engine_of_facts_that_cannot_be_meant(tmp_path: Path, facts: str, says: str) -> None:
    (fault,) = faults(tmp_path, instance_yaml=FILES["instance.yaml"] + f"facts: {{{facts}}}\n")
    assert re.search(says, str(fault))
