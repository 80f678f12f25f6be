"""Random restrictions: ids of dimensions that go together."""

from hypothesis import strategies as st

from tests.laws.oracle.books import GL, OWN, UNASSIGNED, Cuts, OracleBooks
from tests.laws.oracle.members import TwoWeights, joined, placed


@st.composite
def ids_of(draw: st.DrawFn, books: OracleBooks, dimension: str) -> tuple[str, ...]:
    """Draw members or nodes of a dimension whose leaves have one weight together."""
    known = members_of(books, dimension)
    drawn = tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)))
    try:
        joined(books, dimension, drawn)
    except TwoWeights:
        return drawn[:1]
    return drawn


def members_of(books: OracleBooks, dimension: str) -> list[str]:
    """Return what a filter by a dimension can name."""
    if dimension in books.trees:
        edges = books.trees[dimension]
        inner = {edge.parent for edge in edges} & set(books.bands)
        return [*sorted(placed(edges)), *sorted(node + OWN for node in inner), UNASSIGNED]
    return {
        "product": [*sorted(books.bands), UNASSIGNED],
        "band": ["big", "small", UNASSIGNED],
        "region": ["EU", "US", UNASSIGNED],
    }[dimension]


@st.composite
def cuts_of(draw: st.DrawFn, books: OracleBooks, domain: str, most: int = 1) -> Cuts:
    """Draw a restriction of a domain."""
    usable = ("product", "band", "tree", "alt", "region") if domain == GL else ("region",)
    keys = draw(st.lists(st.sampled_from(usable), unique=True, max_size=most))
    return {key: draw(ids_of(books, key)) for key in keys}
