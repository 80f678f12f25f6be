"""Each part of the key of each memo tells values apart, one part at a time, or a reason says why it need not here."""

from collections.abc import Mapping
from pathlib import Path

from engine.model.errors import Refusal
from tests.support.books.varied import MORE, WHO, VariedBooks, calls, metric, more_calls
from tests.support.checks.memo_keys import Part, kept_values

AGAIN = 30  # calls that are asked once more when other members are loaded
UNTOLD: Mapping[str, set[Part]] = {  # parts that tell no values apart in these books, by the reason
    "it is filled later: what is read of it is made anew in spec/test_memos_remade.py": {
        *(("amounts", "1"), ("amounts", "2"), ("amounts", "3"), ("amounts", "4"), ("windows of periods", "1")),
        ("first filter", "1"),
    },
    "rows, reads and axes are objects of the profiles that they were made for": {
        *(("lines", "profiles"), ("names currencies", "profiles"), ("permission of rows", "profiles")),
        *(("places of", "profiles"), ("presences of", "profiles"), ("reads", "profiles"), ("sharing", "profiles")),
        *(("repeat notes", "profiles"), ("unmet conditions", "profiles")),
    },
    "another part names it: a row its metric and domains, reads their filters, columns of time their breakdown": {
        *(("metric row", "1"), ("permission of rows", "2"), ("presences of", "3")),
        *(("permission of rows", "4"), ("presences of", "4")),
        *(("places", "2"), ("times", "3"), ("presences", "1")),
    },
    "the tables of the members name it": {("leaf", "1"), ("id ranks", "1"), ("undescribed", "1")},
    "the value is that of all profiles": {("summed balances", "profiles")},
    "these books have one of it: feeds, measures without a blank, a report without others, one budget of an answer": {
        *(
            ("line expression", "1"),
            ("feeds", "1"),
            ("feeds", "profiles"),
            ("blanks", "1"),
            ("reads", "3"),
            ("answer", "3"),
            ("presences", "4"),
        ),
    },
    "these books hold days, and so carry every window; mutations take each part out": {
        *(("uncarried", "1"), ("uncarried", "2")),
    },
    "rows of an engine and of attached tables keep their names in the key; here such are places without rows": {
        *(("presence", "1"), ("presence", "2"), ("presence", "3")),
    },
    "no formula of these books has an operand with a side of its own": {
        *((memo, part) for memo in ("own sides of", "own sides of metric") for part in ("1", "profiles")),
    },
    "no two keys here differ in it alone": {
        *(("presence of filter", "1"), ("line expression", "1"), ("line expression", "3")),
        *(("classes", "1"), ("counted", "2"), ("id ranks", "tables"), ("unreached", "1"), ("unreached", "profiles")),
        ("undescribed", "tables"),
    },
}


def test_each_part_of_the_key_of_a_memo_tells_values_apart(tmp_path: Path) -> None:
    books = VariedBooks(tmp_path)
    with kept_values() as kept:
        for call in (*calls(), *more_calls()):
            for who in (*WHO, *MORE):
                try:
                    books.ask(call, who)
                except Refusal:
                    continue  # of a metric or domain that the caller does not see
        books.load_other_members()
        for call in list(calls())[:AGAIN]:
            for who in WHO:
                books.ask(call, who)
        books.ask(metric(), MORE[-1])
    untold = {part for part, tells in kept.parts().items() if not tells}
    assert untold == set().union(*UNTOLD.values())
