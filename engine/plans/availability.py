"""Availability: which dimensions of a query each domain has, and why a figure is unavailable."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import compress, product, repeat

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.caching import cached_method
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Base, Catalogue, DimensionKind, Domain
from engine.model.formulas import Figure, Nothing
from engine.model.scope import ALL
from engine.model.stopping import watched
from engine.plans.expressions import Expression, FormulaExpression
from engine.plans.weights import Axis, Members
from engine.plans.windows import EMPTY_WINDOW, DateWindow
from engine.queries.filters import filter_of
from engine.queries.values import Filter, Query

BALANCE_WITHOUT_DATE = "a balance is that of a day, and these rows have no date"
BrokenDown = tuple[bool, ...]  # for each dimension of the breakdown, whether a place has a member of it
KEPT_REASONS = 1_000  # bases whose reason an availability keeps, as a size in members


class Availability(Struct, frozen=True, eq=False, dict=True):
    """What the domains can answer of a query, whatever its days and columns. It compares by identity."""

    reader: Reader
    dimensions: tuple[str, ...]  # of the breakdown in order, without time
    filters: tuple[Filter, ...]
    grain: Grain | None  # of the requested range; None for rows without a date
    time: tuple[Grain, ...]  # of the breakdown

    @classmethod
    def of(cls, query: Query, reader: Reader) -> "Availability":
        """Return what the domains can answer of a query, memoised by the books."""
        dimensions = tuple(dimension.key for dimension in query.breakdown if not dimension.grain)
        grain = None if query.asked.is_undated else query.asked.grain
        time = tuple(axis.grain for axis in query.time)
        key = ("availability", dimensions, tuple(known.value for known in query.filters), grain, time)
        size = KEPT_REASONS + sum(len(known.leaves) for known in query.filters)
        return reader.memo_as_seen(key, lambda: cls(reader, dimensions, query.filters, grain, time), size)

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue."""
        return self.reader.catalogue

    @cached_property
    def across(self) -> Mapping[str, tuple[bool, ...]]:
        """For each domain, whether it has each dimension of the breakdown."""
        return {
            domain.key: tuple(self.catalogue.dimensions[key].leaf in domain.dimensions for key in self.dimensions)
            for domain in self.catalogue.domains.values()
        }

    def across_of(self, base: Base) -> tuple[bool, ...]:
        """Return for each dimension of the breakdown whether it tells figures of a base apart.

        The members of an operand of its own are those of every row.
        """
        across = self.across[base.domain]
        if not base.own:
            return across
        own = {cut.leaf for cut in base.own}
        leaves = (self.catalogue.dimensions[key].leaf for key in self.dimensions)
        return tuple(has and leaf not in own for has, leaf in zip(across, leaves, strict=True))

    def filters_of(self, base: Base) -> list[Filter]:
        """Return the filters that restrict a base: those of its own, and those of the query on other leaves."""
        own, lacking = {cut.leaf for cut in base.own}, self.missing_filters(base)
        others = [known for known in self.filters if known.dimension.leaf not in own]
        return [*(known for known in others if known.dimension.key not in lacking), *own_filters(base, self.reader)]

    def is_topped(self, base: Base, axis: Axis) -> bool:
        """Tell whether an axis is the top of a base: its domain has the dimension, and its `where` keeps no node."""
        return self.across_of(base)[axis.place] and all(cut.dimension != axis.key for cut in base.kept)

    def masked(self, base: Base, members: Members) -> Members:
        """Return members as a base knows them: None, the total, for a dimension that it lacks or has of its own."""
        return masked_by(self.across_of(base), members)

    def missing_dimensions(self, expression: Expression, by: BrokenDown = ()) -> tuple[str, ...]:
        """Return the dimensions of the breakdown that a figure lacks; it repeats its aggregate over them.

        `by` narrows the breakdown to that of a sub-total.
        """
        if not self.dimensions:
            return ()
        lacking = {key for base in bound_bases(expression) for key, has in self.breakdown_of(base, by) if not has}
        return tuple(key for key in self.dimensions if key in lacking)

    def missing_filters(self, base: Base) -> tuple[str, ...]:
        """Return the filtered dimensions that a base lacks. They do not restrict a figure that repeats."""
        leaves = {*self.catalogue.domains[base.domain].dimensions, *(cut.leaf for cut in base.own)}
        return tuple(known.dimension.key for known in self.filters if known.dimension.leaf not in leaves)

    def breakdown_of(self, base: Base, by: BrokenDown = ()) -> tuple[tuple[str, bool], ...]:
        """Return the dimensions of a breakdown, perhaps a narrowed one, each with whether a base has it, or its own."""
        own = {cut.leaf for cut in base.own}
        has = self.across[base.domain]
        if own:
            has = tuple(
                known or self.catalogue.dimensions[key].leaf in own
                for key, known in zip(self.dimensions, has, strict=True)
            )
        return tuple(compress(zip(self.dimensions, has, strict=True), by or repeat(1)))

    def why_not(self, expression: Expression) -> str | None:
        """Return why no column can show a figure, or None if it is available."""
        for base in expression.bases:
            if reason := self.why_not_base(base):
                return reason
        return None

    @cached_method
    def why_not_base(self, base: Base) -> str | None:
        """Return why no column can show a base: a filter or a grain that its domain lacks."""
        domain = self.catalogue.domains[base.domain]
        lacking = self.missing_filters(base)
        if lacking and not base.repeats:
            return f"{domain.key} has no {' and no '.join(lacking)}, which is filtered"
        if self.grain is None and not base.over_time.is_flow:
            return BALANCE_WITHOUT_DATE
        if self.grain is not None and not domain.carries(self.grain):
            return f"{domain.key} is held by {domain.grain.value}, not by {self.grain.value}"
        dimensions = [key for key, has in zip(self.dimensions, self.across_of(base), strict=True) if has]
        return why_not_weighed(base, self.filters_of(base), dimensions, self.reader)

    def why_not_by_member(self, expression: Expression, by: BrokenDown = ()) -> str | None:
        """Return why only totals show a formula (its operands have different dimensions), or None if members do too.

        `by` narrows the breakdown to that of a sub-total.
        """
        if not self.dimensions or not isinstance(expression, FormulaExpression):
            return None
        bases = {(base.domain, base.own): base for base in bound_bases(expression)}
        has = {base.domain: self.breakdown_of(base, by) for base in bases.values()}
        if len({self.breakdown_of(base, by) for base in bases.values()}) == 1:
            return None
        short = [domain for domain, known in has.items() if not all(is_there for _, is_there in known)]
        lacking = self.missing_dimensions(expression, by)
        return f"{' and '.join(short)} cannot be broken down by {' and '.join(lacking)}"

    def blanked(
        self, expression: Expression, figures: Sequence[Figure], places: Callable[[], Sequence[BrokenDown]]
    ) -> Sequence[Figure]:
        """Return the figures of a formula, unavailable where only totals show it; `places` tells how each is broken."""
        if not self.why_not_by_member(expression):
            return figures
        each = places()
        blank = {by for by in set(each) if self.why_not_by_member(expression, by)}
        pairs = zip(figures, each, strict=True)
        return [Nothing.UNAVAILABLE if by in blank else figure for figure, by in watched(pairs)]

    def why_not_by_time(self, expression: Expression) -> str | None:
        """Return why only totals show a figure (the periods are finer than its domain), or None if periods do too."""
        for base, grain in product(expression.bases, self.time):
            domain = self.catalogue.domains[base.domain]
            if not domain.carries(grain):
                return f"{domain.key} is held by {domain.grain.value}, not by {grain.value}"
        return None

    def why_not_in(self, expression: Expression, window: DateWindow) -> str | None:
        """Return why a window shows no figure, or None if it does.

        It begins or ends inside a period of a domain, or its step takes other figures.
        """
        if why := next(filter(None, map(window.why_not, expression.bases)), None):
            return why
        domains = (self.catalogue.domains[base.domain] for base in expression.bases)
        return next(
            (why for domain in domains if (why := why_not_window(domain, window, self.catalogue.calendar))), None
        )

    def uncarried(self, domain: str, windows: tuple[DateWindow, ...]) -> frozenset[int]:
        """Return the windows, by position, whose column has other periods than a domain, or that cut one of its own.

        The books memoise them.
        """
        known, calendar = self.catalogue.domains[domain], self.catalogue.calendar

        def find() -> frozenset[int]:
            each = enumerate(watched(windows))
            return frozenset([at for at, window in each if why_not_window(known, window, calendar)])

        return self.reader.memo(("uncarried", domain, windows), find, len(windows))

    def carried(self, domain: str, windows: tuple[DateWindow, ...]) -> tuple[DateWindow, ...]:
        """Return windows, EMPTY_WINDOW in place of those that a domain does not carry: their rows make no member."""
        lacking = self.uncarried(domain, windows)
        if not lacking:
            return windows
        return tuple(EMPTY_WINDOW if at in lacking else window for at, window in enumerate(watched(windows)))

    def operand(self, expression: FormulaExpression, window: DateWindow, by: BrokenDown) -> str:
        """Return the operand that makes a formula unavailable in a window and a narrowed breakdown."""
        for name, part in expression.parts.items():
            if self.why_not(part) or self.why_not_by_member(part, by) or self.why_not_in(part, window):
                return name
        lacking: Sequence[str] = [name for name, part in expression.parts.items() if self.missing_dimensions(part, by)]
        return next(iter(lacking or expression.parts))


def masked_by(across: tuple[bool, ...], members: Members) -> Members:
    """Return members, None in place of those of dimensions that do not tell figures apart."""
    if all(across):
        return members
    return tuple(member if has else None for member, has in zip(members, across, strict=True))


def own_filters(base: Base, reader: Reader) -> Sequence[Filter]:
    """Return the filters by the members that an operand has of its own, memoised by the books."""

    def make() -> Sequence[Filter]:
        named = ((reader.dimensions[cut.dimension], cut.ids) for cut in base.own)
        return [
            filter_of(dimension, ids, reader)
            for dimension, ids in named
            if ids != (ALL,) or dimension.kind is DimensionKind.RAGGED
        ]

    return reader.memo_as_seen(("own filters", base), make, len) if base.own else ()


def bound_bases(expression: Expression) -> Sequence[Base]:
    """Return the bases whose dimensions those of a figure are: all but those that repeat, unless every one does."""
    return [base for base in expression.bases if not base.repeats] or expression.bases


def why_not_window(domain: Domain, window: DateWindow, calendar: Calendar) -> str | None:
    """Return why a domain has no figure of a window, None if it has: what decides is the days that the window has."""
    if others := [grain for grain in window.grains if not domain.carries(grain)]:
        finest = min(others, key=lambda grain: grain.fineness)
        return f"{domain.key} is held by {domain.grain.value}, not by {finest.value}"
    if window.is_undated or all(calendar.is_whole(span, domain.grain) for span in window.spans):
        return None
    inside = calendar.grains[domain.grain].called
    return f"{domain.key} is held by {domain.grain.value}, and {window.label} begins or ends inside {inside}"


def why_not_weighed(base: Base, filters: Sequence[Filter], breakdown: Sequence[str], reader: Reader) -> str | None:
    """Return why a base does not support the weights of its restriction, filters and breakdown; None if it does."""
    if base.over_members.is_additive:
        return None
    own = {cut.dimension for cut in base.kept}
    weighted = [cut.dimension for cut in base.kept if reader.weighs(cut.dimension, reader.cut_leaves(cut))]
    others = [known for known in filters if known.dimension.key not in own]
    weighted += [known.dimension.key for known in others if reader.weighs(known.dimension.key, known.counted)]
    leaves, dimensions = reader.catalogue.domains[base.domain].dimensions, reader.catalogue.dimensions
    across = [key for key in breakdown if key not in own and dimensions[key].leaf in leaves]
    weighted += [key for key in across if breaks_down_weighing(key, reader)]
    how = base.over_members.value.replace("_", " ")
    return f"a {how} cannot be weighed, and {' and '.join(dict.fromkeys(weighted))} weighs" if weighted else None


def breaks_down_weighing(dimension: str, reader: Reader) -> bool:
    """Tell whether a member of a breakdown, or its total, has a weight other than 1 on a visible leaf."""
    members = reader.members(dimension)
    return members.top() is not None and any(
        reader.weighs(dimension, leaves)
        for leaves in watched((members.top() or {}, *map(members.leaves, members.ids())))
    )
