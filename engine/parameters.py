"""Named parameters of a query: where they stand, and the query as a database takes it.

`where day >= :period_start and company = :company` becomes `where day >= $1 and company = $2`.
"""

import re
from dataclasses import dataclass

PERIOD = "period"
PERIOD_PARAMETERS = ("period_start", "period_end", "period_end_exclusive", PERIOD)
PERIOD_PLACE = f"{{{PERIOD}}}"  # in the file pattern of a folder, where the code of the period stands

TOKEN = re.compile(
    r"""
      (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)                # text with escapes
    | '(?:[^']|'')*(?:'|\Z)                                    # text
    | "(?:[^"]|"")*(?:"|\Z)                                    # a quoted identifier
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)  # text between dollars
    | --[^\n]*
    | (?P<comment>/\*)
    | ::                                                       # a cast
    | (?<![\w$])\$(?P<number>\d+)
    | (?<!\w):(?P<name>[A-Za-z_][A-Za-z0-9_]*)                 # after a word the colon is that of a slice, as in a[1:n]
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT_MARK = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class ParameterQuery:
    """A query as a database takes it: the parameter of the first name is $1, and so on."""

    text: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]  # $1 and the like that the query as written has itself


def numbered(query: str) -> ParameterQuery:
    """Return a query of PostgreSQL with its named parameters numbered, each name once.

    What stands in text, quoted identifiers and comments is no parameter, nor is a cast.
    """
    names: dict[str, int] = {}
    numbers: list[str] = []
    parts: list[str] = []
    done = at = 0
    while token := TOKEN.search(query, at):
        at = token.end()
        if token["comment"]:
            at = end_of_comment(query, at)
        elif token["number"]:
            numbers.append(token[0])
        elif name := token["name"]:
            parts += (query[done : token.start()], f"${names.setdefault(name, len(names) + 1)}")
            done = at
    return ParameterQuery("".join((*parts, query[done:])), tuple(names), tuple(numbers))


def end_of_comment(query: str, at: int) -> int:
    """Return where a comment ends that begins before a place; comments of PostgreSQL nest."""
    depth = 1
    while depth:
        mark = COMMENT_MARK.search(query, at)
        if mark is None:
            return len(query)
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
    return at
