"""Named parameters of a query, told from everything else a colon can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.feeds.query_parameters import number_parameters


@pytest.mark.parametrize(
    ("query", "text", "names"),
    [
        ("select 1", "select 1", ()),
        ("where d >= :a and d < :b", "where d >= $1 and d < $2", ("a", "b")),
        ("where d>=:a or e>=:a or f=:b", "where d>=$1 or e>=$1 or f=$2", ("a", "b")),
        (":a::date + :b::int", "$1::date + $2::int", ("a", "b")),
        ("x::text, y :: date", "x::text, y :: date", ()),
        ("':a' || 'it''s :b' || :c", "':a' || 'it''s :b' || $1", ("c",)),
        (r"E'\':a' || e'\\' || :b", r"E'\':a' || e'\\' || $1", ("b",)),
        (r"'\' || :a || '\'", r"'\' || $1 || '\'", ("a",)),
        (r"type'\' || :a", r"type'\' || $1", ("a",)),
        ('"a:b"":c" = :d', '"a:b"":c" = $1', ("d",)),
        ("-- :a\n:b", "-- :a\n$1", ("b",)),
        ("/* :a /* :b */ :c */ :d", "/* :a /* :b */ :c */ $1", ("d",)),
        ("$$ :a ' $$ || :b", "$$ :a ' $$ || $1", ("b",)),
        ("$x$ :a $$ :b $x$ || :c", "$x$ :a $$ :b $x$ || $1", ("c",)),
        ("name$x$ = :a and b$x = 1", "name$x$ = $1 and b$x = 1", ("a",)),
        ("a[1:n] || f(x := 1) || a[:lo]", "a[1:n] || f(x := 1) || a[$1]", ("lo",)),
        ("'never closed :a", "'never closed :a", ()),
        ("/* never closed :a", "/* never closed :a", ()),
        ("$$ never closed :a", "$$ never closed :a", ()),
    ],
)
def test_parameters_are_numbered_and_what_only_looks_like_one_stays(query: str, text: str, names: list[str]) -> None:
    found = number_parameters(query)
    assert (found.text, found.names, found.numbers) == (text, names, ())


def test_numbers_that_a_query_has_itself_are_told() -> None:
    assert number_parameters("a = $1 and b = '$2' and c$3 = $12").numbers == ("$1", "$12")


PLAIN = st.sampled_from(["select a", " + ", "\n", "x::int", " , ", "(", ")", "b [ 1 ]", " = "])
OPAQUE = st.sampled_from(["':n'", '":n"', "-- :n\n", "/* :n */", "$t$ :n $t$", "E'\\':n'", "'it''s :n'"])


@given(st.lists(st.one_of(PLAIN, OPAQUE, st.just(" :n "))))
def test_a_parameter_is_found_wherever_it_stands_between_other_parts(parts: list[str]) -> None:
    found = number_parameters(" ".join(parts))
    assert found.text == " ".join(" $1 " if part == " :n " else part for part in parts)
    assert found.names == (("n",) if " :n " in parts else ())
