"""Scripts of several callers: they have their places in turn, and whoever asks for many holds up nobody else."""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

from tests.integration.server.test_chart_refusals import MONEY, PLAIN, REPORT, TOOL, reported
from tests.integration.server.test_downloads import FINANCE
from tests.support.service.issuers import issuing
from tests.support.service.operations import metric
from tests.support.service.servers import DEADLINE, Server, connected, serving, wait_for
from tests.support.service.users import ACCEPTED, call, serving_many, write_books

MANY = 16  # calls that a caller may have in flight
ENDLESS = "while True: pass"  # until its time is over


def asked(reference: str, code: str) -> dict[str, Any]:
    """Return the arguments of a chart."""
    return {"data_refs": [reference], "transform_code": code, "chart_spec": PLAIN}


async def answers_before_his(
    server: Server, hers: tuple[str, str], his: tuple[str, str]
) -> tuple[int, Mapping[str, Any]]:
    """Return how many of her endless scripts were ended before he had his chart, and his answer.

    Of each the token and a result are given. He asks once all of hers are in flight, and she leaves when he has it.
    """
    answered: list[str] = []

    async def draw(name: str, token: str, reference: str, code: str) -> Mapping[str, Any]:
        sent = {**ACCEPTED, "Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        content = call(TOOL, json.dumps(asked(reference, code)))
        answer = await client.post(server.url, content=content, headers=sent)
        answered.append(name)
        found: Mapping[str, Any] = answer.json()["result"]["structuredContent"]
        return found

    limits = httpx2.Limits(max_connections=MANY + 1)
    async with httpx2.AsyncClient(timeout=DEADLINE, limits=limits) as client:
        crowd = [asyncio.create_task(draw("her", *hers, ENDLESS)) for _ in range(MANY)]
        await asyncio.to_thread(wait_for, lambda: metric(server, "tieout_calls_in_flight") == MANY)
        before = len(answered)
        chart = await draw("him", *his, MONEY)
        after = answered.index("him")
        for one in crowd:
            one.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
    return after - before, chart


def test_another_waits_for_the_script_that_runs_and_not_for_all_that_one_asked_for(tmp_path: Path) -> None:
    books = write_books(tmp_path)
    with issuing() as issuer, serving_many(books, issuer.url, SVC_SCRIPTS_AT_ONCE="1") as server:
        ann, bob = (issuer.token(sub=name, **FINANCE) for name in ("ann", "bob"))
        before, chart = asyncio.run(
            answers_before_his(server, (ann, reported(server, ann)), (bob, reported(server, bob)))
        )
    assert chart["rows"]
    assert before <= 1  # which ran when he came


def test_where_the_place_is_taken_a_script_waits_for_it(small_instance: tuple[Path, Path]) -> None:
    with serving(*small_instance, SVC_SCRIPTS_AT_ONCE="1") as server, connected(server.url, "auto") as books:
        report = books.ask("run_statement", **REPORT)["data_ref"]
        with ThreadPoolExecutor(2) as threads, connected(server.url, "auto") as other:
            both = [threads.submit(client.call, TOOL, **asked(report, ENDLESS)) for client in (books, other)]
            assert [one.result().result["error_type"] for one in both] == ["transform_limit"] * 2
        assert not books.call(TOOL, **asked(report, MONEY)).is_error
