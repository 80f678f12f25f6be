"""The named parameters of a query, and the marks by which a driver takes them.

`where day >= :period_start and company = :company` becomes `where day >= $1 and company = $2`.
"""

import re
from enum import Enum

from msgspec import Struct

PERIOD = "period"
PERIOD_PARAMETERS = ("period_start", "period_end", "period_end_exclusive", PERIOD)
PERIOD_PLACE = f"{{{PERIOD}}}"  # placeholder for the period code in a file pattern

TOKEN = re.compile(
    r"""
      (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)                # text with escapes
    | '(?:[^']|'')*(?:'|\Z)                                    # text
    | "(?:[^"]|"")*(?:"|\Z)                                    # a quoted identifier
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)  # text between dollars
    | `[^`]*(?:`|\Z)                                           # a quoted identifier of BigQuery
    | --[^\n]*
    | (?P<comment>/\*)
    | ::                                                       # a cast
    | (?<![\w$])\$(?P<number>\d+)
    | (?<!\w):(?P<name>[A-Za-z_][A-Za-z0-9_]*)                 # after a word the colon is that of a slice, as in a[1:n]
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT_MARK = re.compile(r"/\*|\*/")


class ParamStyle(Enum):
    """How the queries of a driver mark their parameters; the values are those of `paramstyle` in integrations.yaml."""

    DOLLAR = "numeric_dollar"  # $1, $2: one number per name
    NUMBERED = "numeric_question"  # ?1, ?2: the same
    QMARK = "qmark"  # ?: one place after the other

    def mark(self, number: int) -> str:
        """Return the mark of a parameter."""
        return {ParamStyle.DOLLAR: f"${number}", ParamStyle.NUMBERED: f"?{number}", ParamStyle.QMARK: "?"}[self]


class ParameterQuery(Struct, frozen=True):
    """A query with the parameters of a driver: the first mark or number stands for the first name, and so on."""

    text: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]  # numbered parameters that the original query contains, such as $1


def number_parameters(query: str, style: ParamStyle = ParamStyle.DOLLAR) -> ParameterQuery:
    """Replace the named parameters of a query by the marks of a driver.

    Ignores string literals, quoted identifiers, comments and casts, as PostgreSQL writes them.
    """
    names: dict[str, int] = {}
    every: list[str] = []  # names in the order of their places
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
            parts += (query[done : token.start()], style.mark(names.setdefault(name, len(names) + 1)))
            every.append(name)
            done = at
    bound = every if style is ParamStyle.QMARK else names
    return ParameterQuery("".join((*parts, query[done:])), tuple(bound), tuple(numbers))


def end_of_comment(query: str, at: int) -> int:
    """Return the end of the block comment that is open at an offset. PostgreSQL comments nest."""
    depth = 1
    while depth:
        mark = COMMENT_MARK.search(query, at)
        if mark is None:
            return len(query)
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
    return at
