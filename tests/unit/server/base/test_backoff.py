"""Back-off: no delay at first, twice as long after each failure up to a limit, none again after a success."""

from server.base.backoff import Backoff


def test_the_delay_doubles_with_each_failure_up_to_its_limit_and_ends_with_a_success() -> None:
    backoff = Backoff(first=0.5, longest=3.0)
    delays = [backoff.delay]
    for _ in range(5):
        backoff.fail()
        delays.append(backoff.delay)
    assert delays == [0.0, 0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.delay == 0.0
    backoff.fail()
    assert backoff.delay == 0.5
