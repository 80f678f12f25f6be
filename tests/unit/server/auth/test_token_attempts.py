"""Refused tokens by address: a burst is answered, then one a few seconds, and the table stays small."""

import pytest

from server.auth.tokens import AT_ONCE, EVERY_SECONDS, MOST_ADDRESSES, RefusalLimiter, network_of


class MovedClock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_answered_and_then_as_many_as_time_forgets() -> None:
    clock = MovedClock()
    attempts = RefusalLimiter(clock)
    assert [attempts.count("a").wait for _ in range(AT_ONCE)] == [0] * AT_ONCE
    first, second = attempts.count("a"), attempts.count("a")
    assert (first.wait, first.begins, second.begins) == (EVERY_SECONDS, True, False)
    assert attempts.count("b").wait == 0
    clock.now += EVERY_SECONDS
    assert attempts.count("a").wait == 0
    assert attempts.count("a").wait == EVERY_SECONDS
    assert not attempts.count("a").begins, "it is the same burst"
    clock.now += AT_ONCE * EVERY_SECONDS
    assert [attempts.count("a").begins for _ in range(AT_ONCE + 2)] == [False] * AT_ONCE + [True, False]


def test_the_table_holds_those_who_came_last() -> None:
    attempts = RefusalLimiter(MovedClock())
    for _ in range(AT_ONCE):
        attempts.count("first")
    for number in range(MOST_ADDRESSES - 1):
        attempts.count(f"{number}")
    assert attempts.count("first").wait
    for number in range(MOST_ADDRESSES):
        attempts.count(f"other{number}")
    assert not attempts.count("first").wait
    assert len(attempts._buckets) == MOST_ADDRESSES


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("not an address\n", "?"),
        ("", "?"),
        (None, "?"),
    ],
)
def test_an_address_of_version_six_stands_for_its_network(host: str | None, place: str) -> None:
    assert network_of(host) == place
