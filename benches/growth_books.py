"""Books that are large in one size: scenarios, domains, dimensions, denied members, profiles, metrics or lines."""

from dataclasses import dataclass, fields

from benches.books import ROOT, BenchBooks
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

MONTHS = ("2026-01-31", "2026-02-28")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownBooks:
    """The sizes of some books."""

    scenarios: int = 1
    domains: int = 1
    dimensions: int = 1
    members: int = 10  # of each dimension
    denied: int = 0  # members of the first dimension that the profile `denied` lacks
    profiles: int = 0  # each shows one member of the first two dimensions
    formulas: int = 0  # metrics of the first domain that are formulas
    lines: int = 1
    layers: int = 0  # of two lines, each a formula of both lines of the layer below

    @property
    def name(self) -> str:
        """The sizes in words."""
        sizes = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "-".join(f"{name}-{size}" for name, size in sizes)

    def opened(self) -> BenchBooks:
        """Return the books, written and loaded once."""
        home = ROOT / "out" / "benches" / "growth" / self.name
        books = BenchBooks(home / "instance", home / "state")
        if not (books.state / "store" / "CURRENT").exists():
            print(f"writing and loading {self.name} …")
            self._write(books)
            load_instance(books.instance, books.state)
        return books

    def _write(self, books: BenchBooks) -> None:
        keys = [f"d{number}" for number in range(self.dimensions)]
        write_instance(
            books.instance,
            facts={f"sales{number}": self._facts(keys) for number in range(self.domains)},
            domains={f"sales{number}": self._domain(number, keys) for number in range(self.domains)},
            dimensions="".join(f"{key}: {{kind: leaf, members: live.{key}}}\n" for key in keys),
            tables={key: self._members() for key in keys},
            scenarios="".join(f"s{at}: {{alias: S{at}, kind: forecast}}\n" for at in range(self.scenarios)),
            statements={"pnl": self._lines(), **({"layered": self._layers()} if self.layers else {})},
            profiles=self._profiles(),
        )

    def _facts(self, keys: list[str]) -> str:
        rows = (
            f"{day} s{scenario} {' '.join([f'M{(scenario + at) % self.members:06d}'] * len(keys))} {at + 1}"
            for scenario in range(self.scenarios)
            for at, day in enumerate(MONTHS)
        )
        return "\n".join((f"date scenario {' '.join(keys)} amount", *rows))

    def _members(self) -> str:
        return "\n".join(("id name", *(f"M{at:06d} Member~{at}" for at in range(self.members))))

    def _domain(self, number: int, keys: list[str]) -> str:
        formulas = "".join(f"  f{at}: {{formula: amount{number} * {at + 2}}}\n" for at in range(self.formulas))
        return (
            f"time: {{column: date}}\ndimensions: {{{', '.join(f'{key}: {key}' for key in keys)}}}\n"
            f"measures: {{amount: {{places: 2}}}}\nmetrics:\n  amount{number}: {{measure: amount}}\n{formulas}"
        )

    def _lines(self) -> str:
        lines = (f"{{key: l{at}, is: amount0 * {at + 1}, label: Line {at}}}" for at in range(self.lines))
        return "".join(f"  - {{formula: {line}}}\n" for line in lines)

    def _layers(self) -> str:
        lines = ["{key: a0, is: amount0 * 3, label: A}", "{key: b0, is: amount0 * 2, label: B}"]
        for at in range(self.layers):
            for key, sign in (("a", "+"), ("b", "-")):
                lines.append(f"{{key: {key}{at + 1}, is: a{at} {sign} b{at}, label: Layer {at + 1}}}")
        return "".join(f"  - {{formula: {line}}}\n" for line in lines)

    def _profiles(self) -> str:
        denied = ", ".join(f"M{at:06d}" for at in range(2, 2 + self.denied))
        parted = ", ".join(f"d{number}: {{deny: [M000001]}}" for number in range(min(2, self.dimensions)))
        lines = [f"part: {{scenarios: {{'*': {{dimensions: {{{parted}}}}}}}}}"]
        if denied:
            lines.append(f"denied: {{scenarios: {{'*': {{dimensions: {{d0: {{deny: [{denied}]}}}}}}}}}}")
        for at in range(self.profiles):
            of = ", ".join(f"d{number}: {{allow: [M{at:06d}]}}" for number in range(min(2, self.dimensions)))
            lines.append(f"p{at}: {{scenarios: {{'*': {{dimensions: {{{of}}}}}}}}}")
        return "\n".join(lines) + "\n"
