"""`python -m tests.differential SECONDS [SEED]`: cells compared until then, and every difference by its name."""

import sys
from collections import Counter
from random import SystemRandom
from time import monotonic

from tests.differential.comparing import InstanceComparison

SHOWN = 4  # differences of a question that are printed


def main() -> int:
    """Compare until the seconds are over; 1 if anything differs."""
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SystemRandom().randrange(2**32)
    begin, comparison, instances, calls = monotonic(), InstanceComparison(), 0, Counter[str]()
    named = Counter[str]()
    sys.stdout.write(f"seed {seed}\n")
    while instances == 0 or monotonic() - begin < seconds:
        for difference in comparison.instance(seed + instances):
            if not calls[difference.call]:
                sys.stdout.write(f"{difference.call}\n")
            calls[difference.call] += 1
            named[difference.name] += 1
            if calls[difference.call] <= SHOWN:
                sys.stdout.write(f"{difference}\n")
        instances += 1
    took = monotonic() - begin
    sys.stdout.write(
        f"{instances} instances, {comparison.questions} questions ({comparison.refusals} refused), "
        f"{comparison.cells} cells in {took:.0f} s ({comparison.cells * 3600 / took:,.0f} an hour), "
        f"{calls.total()} differences in {len(calls)} questions\n"
    )
    sys.stdout.write("".join(f"  {count} {name}\n" for name, count in named.most_common()))
    return int(calls.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
