"""Attacks end as they must, with the language of scripts and with the jail alone, and reach nothing outside."""

import platform
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.job import JobLimits
from sandbox.pool import WORKER
from sandbox.server import ENVIRONMENT
from tests.unit.sandbox.own_attacks import LANGUAGE, MAPPING, MEMORY, PREAMBLE, RAW
from tests.unit.sandbox.trap import ATTACKS, BOUND, CANARY, OF_THE_SERVICE, Attack, AttackOutcome, Trap, trap

PLAIN = "tests.unit.sandbox.plain"
SLACK = 15.0  # seconds for a busy machine to see a job's end
OWN = [Attack(name, code, "rejected") for name, code in LANGUAGE.items()]
BARE = [Attack(name, f"{PREAMBLE}\n{code}\nresult = [{{'v': 'reached'}}]", "rejected") for name, code in RAW.items()]
INSIDE = Attack(
    "inside",
    """
import fcntl, gc, os
gc.unfreeze()
def there(fd):
    try:
        return fcntl.fcntl(fd, fcntl.F_GETFD) >= 0 and fd
    except OSError:
        return 0
texts = [text for thing in gc.get_objects() if isinstance(thing, (dict, list, tuple))
         for text in (thing.values() if isinstance(thing, dict) else thing) if type(text) in (str, bytes)]
wanted = [''.join(parts) for parts in (('OF-ANOTHER', '-JOB'), ('SBX-ENVIRON', 'MENT'), ('CANARY', 'VALUE'))]
found = [str(text)[:50] for text in texts if text not in wanted and any(word in str(text) for word in wanted)]
result = [{'descriptors': [fd for fd in map(there, range(64)) if fd > 2], 'environment': sorted(os.environ),
           'found': found, 'user': os.getuid()}]
""",
    "whole",
)
PIPE = """
import errno, os
def is_pipe(fd):
    try:
        os.lseek(fd, 0, os.SEEK_CUR)
        return False
    except OSError as fault:
        return fault.errno == errno.ESPIPE
(pipe,) = [fd for fd in range(3, 64) if is_pipe(fd)]
"""
NO = (  # the kernel's
    *("[Errno 1]", "[Errno 11]", "[Errno 38]", "(os error 1)"),
    *("AssertionError", "not allowed to raise", "can't start new thread"),
)
PEAK = "result = [{'v': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}]"  # megabytes
TEXT = 128  # megabytes of programs, which are shared with the fork server
FORGERIES = {
    "forged_table": 'os.write(pipe, b\'{"printed":"","columns":[["a","number",0]],"rows":[[1e999]]}\')',
    "forged_noise": "os.write(pipe, bytes(range(256)))",
    "forged_flood": "[os.write(pipe, b'x' * 65536) for _ in range(1000)]",
    "forged_depth": "os.write(pipe, b'[' * 60000)",
}


@pytest.fixture(scope="module")
def trapped() -> Iterator[Trap]:
    """The trap of all attacks."""
    with trap() as place:
        yield place


@pytest.fixture(scope="module")
def endings(trapped: Trap) -> Mapping[str, AttackOutcome]:
    """How attacks end with the language of scripts."""
    return trapped.spring([*ATTACKS, *OWN], WORKER)


@pytest.fixture(scope="module")
def bare(trapped: Trap) -> Mapping[str, AttackOutcome]:
    """How attacks end with the jail alone."""
    of_another = Attack("another", "x = 'OF-ANOTHER-JOB'\nresult = [{'v': x}]", "whole")
    forged = [Attack(name, f"{PIPE}\n{code}\nos._exit(0)", "rejected") for name, code in FORGERIES.items()]
    greedy = [Attack(name, f"{MAPPING}\n{code}\n{PEAK}", "whole") for name, code in MEMORY.items()]
    return trapped.spring([of_another, *ATTACKS, *BARE, *forged, *greedy, INSIDE], PLAIN)


@pytest.mark.parametrize("attack", [*ATTACKS, *OWN], ids=lambda attack: attack.id)
def test_an_attack_ends_as_it_must(attack: Attack, endings: Mapping[str, AttackOutcome]) -> None:
    ending = endings[attack.id]
    assert ending.kind != "unavailable"
    if attack.expected == "rejected":
        assert ending.kind, ending.told[:500]
    if attack.expected == "bounded":
        assert ending.seconds < BOUND + SLACK
    assert CANARY not in ending.told
    assert OF_THE_SERVICE not in ending.told
    assert "root:" not in ending.told


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_the_jail_alone_keeps_an_attack_in(attack: Attack, bare: Mapping[str, AttackOutcome]) -> None:
    ending = bare[attack.id]
    assert ending.kind != "unavailable"
    assert ending.seconds < BOUND + SLACK
    assert CANARY not in ending.told
    assert OF_THE_SERVICE not in ending.told
    assert "root:" not in ending.told


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of these system calls are x86_64's")
@pytest.mark.parametrize("name", RAW)
def test_the_jail_alone_refuses(name: str, bare: Mapping[str, AttackOutcome]) -> None:
    ending = bare[name]
    assert ending.kind == "forbidden" or any(words in ending.told for words in NO), ending.told


@pytest.mark.parametrize("name", MEMORY)
def test_a_process_in_jail_has_the_memory_of_one_job_however_it_asks(
    name: str, bare: Mapping[str, AttackOutcome]
) -> None:
    outcome = bare[name].outcome
    assert outcome.failure is None, outcome.failure
    ((megabytes,),) = outcome.rows
    assert isinstance(megabytes, int)
    assert megabytes <= (JobLimits().memory >> 20) + TEXT


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_reply_is_no_answer(name: str, bare: Mapping[str, AttackOutcome]) -> None:
    assert bare[name].kind in ("forbidden", "limit")


def test_a_process_in_jail_holds_its_own_job_and_nothing_else(bare: Mapping[str, AttackOutcome]) -> None:
    outcome = bare["inside"].outcome
    assert outcome.failure is None
    told: dict[str, Any] = dict(zip([column.name for column in outcome.columns], outcome.rows[0], strict=True))
    assert told["found"] == ()
    assert told["user"] != 0
    assert set(told["environment"]) <= {*ENVIRONMENT, "LC_CTYPE"}
    job = 4  # the reply, the script and two frames
    waits = 3  # of polars' threads: an epoll, its copy and an eventfd
    assert len(told["descriptors"]) == job + waits


def test_nothing_outside_was_reached(
    trapped: Trap, endings: Mapping[str, AttackOutcome], bare: Mapping[str, AttackOutcome]
) -> None:
    assert endings
    assert bare
    assert trapped.reached() == []
    canary = trapped.folder / "canary_secret.txt"
    assert canary.read_text(encoding="ascii") == CANARY
