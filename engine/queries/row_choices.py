"""Row choices: which rows a request keeps by amount and text, in which order, and what it counts them by."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from engine.books.folding import fold, spaced
from engine.model.catalogue import CONTRIBUTION, Domain
from engine.model.errors import BadArguments, ColumnUnavailable, closest, guess, quoted
from engine.model.exact import Exact
from engine.model.fact_store import DATE
from engine.model.requests import Bounds, RowsRequest
from engine.model.scope import LEAST_AMOUNT, MOST_AMOUNT, AmountRange
from engine.queries.filters import refuse_long
from engine.queries.ranking import bound_of

MAX_TEXT, MAX_WORDS = 200, 12  # characters and words of a text to look for
ROWS = "rows"  # column of counted rows
ROWS_OF_GROUP = "rows_counted"  # its name where the source has a column `rows`


class RowOrder(Struct, frozen=True):
    """The column that rows are ordered by, largest first unless `ascending`; rows without a value come last."""

    column: str
    ascending: bool


class ContributionBounds(Struct, frozen=True):
    """The bounds of the contributions to keep, both included; None where there is none."""

    least: Exact | None
    most: Exact | None


class RowChoices(Struct, frozen=True, kw_only=True):
    """The rows that a request keeps, their order, and the columns that it counts them by, as rows if there are none."""

    order: RowOrder | None = None
    ranges: tuple[AmountRange, ...] = ()  # of the one measure, where no figure is named
    bounds: ContributionBounds | None = None  # where a figure is named
    words: tuple[str, ...] = ()  # folded; a row is kept if one text holds them all
    texts: tuple[str, ...] = ()  # the columns that are searched for them
    count_by: tuple[str, ...] = ()
    summed: tuple[str, ...] = ()  # the columns whose sums are told: the contribution, or the measures shown
    told: Mapping[str, str] = {}  # the same in words

    @property
    def is_narrowed(self) -> bool:
        """Whether rows are left out that the filters keep."""
        return bool(self.ranges or self.bounds or self.words)


def resolve_choices(asked: RowsRequest, domain: Domain, shown: Sequence[str], *, has_figure: bool) -> RowChoices:
    """Return the choices of a request for rows of a source that shows some columns.

    Raises BadArguments and ColumnUnavailable for what cannot be combined, with what can.
    """
    measures = tuple(name for name in shown if name in domain.measures)
    summed = (CONTRIBUTION,) if has_figure else measures
    count_by = resolve_groups(asked, domain, shown)
    contribution = summed if has_figure else ()
    ordered = (*count_by, count_column(shown), *summed) if count_by else (*shown, *contribution)
    bounds = resolve_bounds(asked.amount)
    of_measure = () if bounds is None or has_figure else (range_of(bounds, domain, measures),)
    texts = tuple(name for name in shown if kind_of(name, domain) == "text")
    return RowChoices(
        order=resolve_order(asked, ordered),
        ranges=of_measure,
        bounds=bounds if has_figure else None,
        words=resolve_words(asked.text, domain, texts),
        texts=texts if asked.text is not None else (),
        count_by=count_by,
        summed=summed,
        told=dict(choices_in_words(asked)),
    )


def choices_in_words(asked: RowsRequest) -> Iterator[tuple[str, str]]:
    """Yield what a request chooses, each with its heading."""
    if asked.order_by is not None:
        yield "Ordered by", f"{asked.order_by}, {'smallest' if asked.asc else 'largest'} first"
    if asked.amount is not None:
        bounds = {"from": asked.amount.min, "to": asked.amount.max}
        words = {word: repr(bound).removesuffix(".0") for word, bound in bounds.items() if bound is not None}
        yield "Amount", " ".join(f"{word} {bound}" for word, bound in words.items())
    if asked.text is not None:
        yield "Text", asked.text
    if asked.count_by:
        yield "Counted by", ", ".join(asked.count_by)


def kind_of(name: str, domain: Domain) -> str:
    """Return the kind of a column of a source: date, member, amount or text."""
    if name in (DATE, domain.time_column):
        return "date"
    if name in domain.dimensions:
        return "member"
    return "amount" if name in domain.measures else "text"


def count_column(shown: Sequence[str]) -> str:
    """Return the name of the column that counts rows."""
    return ROWS_OF_GROUP if ROWS in shown else ROWS


def resolve_groups(asked: RowsRequest, domain: Domain, shown: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to count by. Raises ColumnUnavailable and BadArguments."""
    valid = [name for name in shown if kind_of(name, domain) != "amount"]
    lost = [name for name in asked.count_by if name not in valid]
    if lost:
        raise ColumnUnavailable(
            f"{domain.key} cannot count by {quoted(lost)}: count_by takes columns that it shows, and no amounts.",
            field="count_by",
            got=list(asked.count_by),
            valid=valid,
        )
    if asked.count_by and asked.columns is not None:
        raise BadArguments(
            "count_by shows its own columns, with rows and sums. Leave columns out.",
            field="columns",
            got=list(asked.columns),
        )
    if asked.count_by and asked.summary:
        raise BadArguments(
            "summary shows no groups. Leave count_by or summary out.",
            field="summary",
            got=True,
            example={"summary": False},
        )
    return tuple(dict.fromkeys(asked.count_by))


def resolve_order(asked: RowsRequest, valid: Sequence[str]) -> RowOrder | None:
    """Return the order of a request. Raises ColumnUnavailable for a column that it cannot order by, BadArguments."""
    if asked.order_by is None:
        if asked.asc:
            raise BadArguments(
                "asc says which end of order_by comes first; name a column in order_by.",
                field="order_by",
                got=None,
                valid=valid,
                example={"order_by": valid[-1]},
            )
        return None
    if asked.order_by not in valid:
        close = closest(asked.order_by, valid)
        raise ColumnUnavailable(
            f"These rows have no {quoted([asked.order_by])} to order by.{guess(close)}",
            field="order_by",
            got=asked.order_by,
            valid=valid,
            did_you_mean=close,
        )
    return RowOrder(asked.order_by, asked.asc)


def resolve_bounds(asked: Bounds | None) -> ContributionBounds | None:
    """Return the bounds of a request. Raises BadArguments for none, for no numbers, and for bounds that cross."""
    if asked is None:
        return None
    least, most = bound_of(asked.min, "amount"), bound_of(asked.max, "amount")
    if least is most is None:
        raise BadArguments("amount needs min or max.", field="amount", got={}, example={"amount": {"min": 0}})
    if least is not None and most is not None and most < least:
        raise BadArguments(
            "amount.min is above amount.max, so no row lies between them.",
            field="amount",
            got={"min": asked.min, "max": asked.max},
            example={"amount": {"min": asked.max, "max": asked.min}},
        )
    return ContributionBounds(least, most)


def range_of(bounds: ContributionBounds, domain: Domain, measures: Sequence[str]) -> AmountRange:
    """Return the range of the one measure that a source shows. Raises BadArguments if it shows none or several."""
    if len(measures) != 1:
        several = f"shows several measures: {', '.join(measures)}" if measures else "shows no measure"
        raise BadArguments(
            f"{domain.key} {several}. Name a metric in filters.metric; amount is then that of the contribution.",
            field="amount",
            got=list(measures),
            valid=[],
        )
    unit = 10 ** domain.measures[measures[0]].places
    least, most = (None if each is None else each * Exact(unit) for each in (bounds.least, bounds.most))
    lower = LEAST_AMOUNT if least is None else ceil_of(least)
    upper = MOST_AMOUNT if most is None else floor_of(most)
    if lower > MOST_AMOUNT or upper < LEAST_AMOUNT or lower > upper:
        return AmountRange(measures[0], 1, 0)  # no stored amount lies there
    return AmountRange(measures[0], max(lower, LEAST_AMOUNT), min(upper, MOST_AMOUNT))


def ceil_of(figure: Exact) -> int:
    """Return the smallest integer that is not below a figure."""
    return -(-figure.numerator // figure.denominator)


def floor_of(figure: Exact) -> int:
    """Return the largest integer that is not above a figure."""
    return figure.numerator // figure.denominator


def resolve_words(text: str | None, domain: Domain, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the folded words to look for. Raises BadArguments without a word or a text column."""
    if text is None:
        return ()
    refuse_long(text, "text", MAX_TEXT)
    if not texts:
        raise BadArguments(
            f"{domain.key} shows no text column. search_hierarchy finds members by name; filter rows by their ids.",
            field="text",
            got=text,
        )
    words = tuple(dict.fromkeys(spaced(fold(text)).split()))
    if not words:
        raise BadArguments("text holds no letter or digit to look for.", field="text", got=text)
    if len(words) > MAX_WORDS:
        raise BadArguments(f"text holds {len(words)} words; {MAX_WORDS} are the most.", field="text", got=text)
    return words
