"""Random metrics that count rows, in every way of adding up over members and over time."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from tests.laws.oracle.books import GL, LEAVES, MEASURES, PEOPLE, OracleBase, OracleBooks, OverTime
from tests.laws.oracle.cuts import cuts_of

FLOW, CLOSING, OPENING = OverTime(), OverTime("closing"), OverTime("closing", opening=True)
LOOKING_BACK = (
    *(OverTime("last_known", since) for since in ("always", "fiscal_year", "range")),
    *(OverTime("to_date", since) for since in ("books", "fiscal_year")),
)
BEFORE = tuple(replace(rule, opening=True) for rule in LOOKING_BACK)
METRICS: tuple[tuple[str, str, OverTime | None], ...] = (  # key, domain, rule (none: any)
    ("flow", GL, FLOW),
    ("other", GL, FLOW),
    ("units", GL, FLOW),
    ("stock", GL, CLOSING),
    ("cash", GL, CLOSING),
    ("level", GL, None),
    ("tally", GL, None),
    ("joiners", PEOPLE, FLOW),
    ("heads", PEOPLE, CLOSING),
    ("staff", PEOPLE, None),
)
UNRESTRICTED = ("other", "joiners")
COUNTS = ("count", "count_distinct")


@st.composite
def bases_of(draw: st.DrawFn, books: OracleBooks) -> dict[str, OracleBase]:
    """Draw the metrics; `tally` makes more of its rows than their sum."""
    return {key: draw(base_of(books, key, domain, rule)) for key, domain, rule in METRICS}


@st.composite
def base_of(draw: st.DrawFn, books: OracleBooks, key: str, domain: str, rule: OverTime | None) -> OracleBase:
    """Draw one metric."""
    how = draw(st.sampled_from((*COUNTS, "min", "max", "average", "median", "percentile"))) if key == "tally" else "sum"
    groups = books.groups[domain]
    group = draw(st.sampled_from(sorted(groups))) if groups else ""
    grain = groups[group].grain if group else "month"
    adding = (FLOW, CLOSING, OPENING) if how not in ("sum", "count") else (*rules(domain, grain), FLOW)
    over_time = rule or draw(st.sampled_from(adding))
    restricted = key not in UNRESTRICTED and draw(st.booleans())
    where = draw(cuts_of(books, domain)) if restricted else {}
    without = draw(cuts_of(books, domain)) if restricted and draw(st.integers(0, 2)) == 1 else {}
    return OracleBase(
        key=key,
        domain=domain,
        measure={"units": "qty"}.get(key, MEASURES[domain][0]),
        # a weight on what cannot be weighed is a fault of the catalogue
        where=where if how in ("sum", "count") else {name: ids for name, ids in where.items() if name != "tree"},
        without={name: ids for name, ids in without.items() if name not in where},
        repeats=domain == PEOPLE and draw(st.booleans()),
        negated=how not in COUNTS and draw(st.booleans()),
        over_members=how,
        percent=draw(st.sampled_from((0, 10, 25, 90, 100))) if how == "percentile" else 50,
        distinct=draw(st.sampled_from(LEAVES[domain])) if how == "count_distinct" else "",
        over_time=over_time,
        group="" if over_time == FLOW else group,
        condition=draw(conditions(domain)) if restricted and over_time.rule != "last_known" else None,
    )


def conditions(domain: str) -> st.SearchStrategy[tuple[str, str, Fraction] | None]:
    """Return what draws a condition on the amounts of a measure of a domain, at times none."""
    limits = st.sampled_from((Fraction(0), Fraction(0), Fraction(-1), Fraction(5, 2), Fraction(20, 100)))
    comparisons = st.sampled_from(("<", "<=", ">", ">="))
    measures = st.sampled_from(MEASURES[domain])
    return st.one_of(st.none(), st.tuples(measures, comparisons, limits))


def rules(domain: str, grain: str) -> tuple[OverTime, ...]:
    """Return the rules of balances of a domain that close at a grain."""
    finer = ("day", "week") if grain == "day" and domain == GL else ()
    means = (OverTime("average", of=of) for of in (*finer, "month", "quarter", "year"))
    return (OPENING, *LOOKING_BACK, *BEFORE, *means, OverTime("lowest"), OverTime("highest"))
