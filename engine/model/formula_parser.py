"""The parser of formulas: a text becomes an expression tree, by precedence climbing. A fault names its character."""

import re
from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from engine.model.exact import Exact
from engine.model.formulas import Constant, Formula, FormulaFault, Operand, Product, Quotient, Sum
from engine.model.functions import COMPARISONS, FUNCTIONS, IF, LENGTHS, PERIOD, Call, Conditional, Members, OwnOperand

VALID = (
    "use names, decimal numbers, + - * /, parentheses, min(a, b), max(a, b), abs(a), round(a, places), "
    "if(a > b, x, y), which compares by < <= = != >= >, days(period), periods(period), and a name with members of its "
    "own in braces, and with a scenario or steps of its own in brackets"
)
MAX_NESTED = 100  # levels of parentheses, signs and functions in a text; each of them is a call within a call
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}  # the operators: one that binds more strongly takes its operands first
TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)"
    r"|(?P<number>(?:[0-9]|\.[0-9])(?:[eE][+-][0-9]|[\w.])*)"  # with whatever is written onto it
    r"|(?P<own>\[[^\[\]]*\])"  # a scenario or steps
    r"|(?P<cut>\{(?:[^{}\"]|\"[^\"]*\")*\})"  # members of dimensions
    r"|(?P<sign><=|>=|!=|[-+*/().,<>=])"
    r"|(?P<end>\Z)"
    r"|(?P<other>.))",  # a character that begins none
    re.DOTALL,
)

WORD = r"(?:\"[^\"]+\"|[\w.-]+)"  # a member
MEMBER = re.compile(WORD)
ENTRY = re.compile(rf"\s*(?P<key>\w+)\s*:\s*(?P<members>{WORD}|\[\s*{WORD}(?:\s*,\s*{WORD})*\s*\])\s*(?P<next>,|\}}$)")


class TokenKind(Enum):
    """What a token of a formula is."""

    NAME = "name"
    NUMBER = "number"
    OWN = "own"
    CUT = "cut"
    SIGN = "sign"
    END = "end"


KINDS = {kind.value: kind for kind in TokenKind}


class FormulaToken(Struct, frozen=True):
    """A part of the text of a formula. `position` counts the characters before it, plus one."""

    kind: TokenKind
    text: str
    position: int


def tokens(text: str) -> list[FormulaToken]:
    """Return the tokens of a formula and its end. Raises FormulaFault for a character that begins none."""
    sequence: list[FormulaToken] = []
    for match in TOKEN.finditer(text):
        name = match.lastgroup or "other"
        if name == "other":
            raise unreadable(text, match.start(name))
        sequence.append(FormulaToken(KINDS[name], match[name], match.start(name) + 1))
        if name == "end":
            break
    return sequence


def unreadable(text: str, at: int) -> FormulaFault:
    """Return the fault of a character that begins no token."""
    closes = {"[": "]", "{": "}"}.get(text[at])
    words = f"'{text[at]}' has no '{closes}' after it" if closes else f"{text[at]!r} cannot stand in a formula"
    return FormulaFault(words, at + 1)


def parse(
    text: str,
    resolve: Callable[[str], str] = str,
    own_side: Callable[[str, int], str] = lambda own, _: own,
    own_cuts: Callable[[str, Members, int], Members] = lambda _, cuts, __: cuts,
) -> Formula:
    """Parse a formula. `resolve` maps each name in the text to the name it refers to. Raises FormulaFault.

    `own_side` takes what stands in the brackets of an operand, with its position, and returns it as it is kept.
    `own_cuts` takes the name of an operand and the members in its braces, with their position, and returns their ids.

    >>> parse("revenue - gl.costs[budget] / 2").names
    ('revenue', 'gl.costs[budget]')
    """
    return FormulaParser(tokens(text), resolve, own_side, own_cuts).whole()


class FormulaParser:
    """Reads the tokens of a formula one after the other."""

    def __init__(
        self,
        each: list[FormulaToken],
        resolve: Callable[[str], str],
        own_side: Callable[[str, int], str],
        own_cuts: Callable[[str, Members, int], Members],
    ) -> None:
        self.resolve, self.own_side, self.own_cuts = resolve, own_side, own_cuts
        self.others = iter(each)  # those after the next one
        self.token = next(self.others)  # the next one
        self.nested = 0

    def whole(self) -> Formula:
        """Read all tokens as one formula."""
        formula = self.formula()
        if self.token.kind is not TokenKind.END:
            raise misplaced(self.token)
        return formula

    def formula(self, binding: int = 0) -> Formula:
        """Read a formula up to an operator that binds no more strongly than `binding`."""
        left = self.operand()
        while BINDING.get(self.token.text, 0) > binding:
            sign = self.take().text
            left = joined(sign, left, self.formula(BINDING[sign]))
        return left

    def operand(self) -> Formula:
        """Read what an operator joins."""
        token = self.take()
        match token.kind, token.text:
            case TokenKind.NUMBER, _:
                return Constant(number(token))
            case TokenKind.NAME, _ if self.token.text == "(":
                return self.within(token, lambda: self.call(token))
            case TokenKind.NAME, _:
                return self.figure(self.resolve(self.name(token)))
            case TokenKind.SIGN, "-":
                return Sum(((True, self.within(token, self.operand)),))
            case TokenKind.SIGN, "(":
                formula = self.within(token, self.formula)
                self.expect(")")
                return formula
        raise misplaced(token)

    def call(self, name: FormulaToken) -> Formula:
        """Read the arguments of a function in parentheses."""
        if name.text not in (*FUNCTIONS, IF, *LENGTHS):
            known = ", ".join((*FUNCTIONS, IF, *LENGTHS))
            raise FormulaFault(f"there is no function '{name.text}'; there are {known}", name.position)
        self.expect("(")
        if name.text in LENGTHS:
            return self.length(name)
        return self.choice(name) if name.text == IF else self.function(name)

    def length(self, name: FormulaToken) -> Formula:
        """Read the word that stands for the period of a figure."""
        operand, _ = LENGTHS[name.text]
        if self.take().text != PERIOD:
            raise FormulaFault(f"{name.text} takes the word {PERIOD} alone: write {operand}", name.position)
        self.expect(")")
        return Operand(operand)

    def function(self, name: FormulaToken) -> Formula:
        """Read the arguments of a function by its table. Raises FormulaFault for more or fewer than it takes."""
        arguments = [self.formula()]
        while self.token.text == ",":
            self.take()
            arguments.append(self.formula())
        self.expect(")")
        function = FUNCTIONS[name.text]
        if len(arguments) not in function.counts:
            words = f"{name.text} takes {function.takes}, not {len(arguments)}: write {function.usage}"
            raise FormulaFault(words, name.position)
        return Call(name.text, tuple(arguments), name.position)

    def choice(self, name: FormulaToken) -> Formula:
        """Read a condition and two branches."""
        left, sign = self.formula(), self.take()
        if sign.text not in COMPARISONS:
            raise FormulaFault(f"a condition takes one of {' '.join(COMPARISONS)}", sign.position)
        right = self.formula()
        self.expect(",")
        then = self.formula()
        self.expect(",")
        otherwise = self.formula()
        self.expect(")")
        return Conditional(sign.text, left, right, then, otherwise, name.position)

    def name(self, token: FormulaToken) -> str:
        """Read the rest of a name that may have its domain before it."""
        if self.token.text != ".":
            return token.text
        self.take()
        own = self.take()
        if own.kind is not TokenKind.NAME:
            raise misplaced(own)
        return f"{token.text}.{own.text}"

    def figure(self, name: str) -> Formula:
        """Read what follows the name of a metric or line, and return its operand."""
        cuts: Members = ()
        if self.token.kind is TokenKind.CUT:
            cut = self.take()
            cuts = self.own_cuts(name, members_in(cut), cut.position)
        if self.token.kind is not TokenKind.OWN:
            return OwnOperand.written(name, "", cuts) if cuts else Operand(name)
        own = self.take()
        return OwnOperand.written(name, self.own_side(own.text[1:-1].strip(), own.position), cuts)

    def within(self, token: FormulaToken, read: Callable[[], Formula]) -> Formula:
        """Read a formula one level deeper. Raises FormulaFault beyond the deepest level."""
        if self.nested == MAX_NESTED:
            raise FormulaFault(f"it nests deeper than {MAX_NESTED} levels", token.position)
        self.nested += 1
        formula = read()
        self.nested -= 1
        return formula

    def expect(self, sign: str) -> None:
        """Read one sign. Raises FormulaFault if another token stands there."""
        if self.token.text != sign:
            raise FormulaFault(f"'{sign}' is missing", self.token.position)
        self.take()

    def take(self) -> FormulaToken:
        """Return the next token and pass over it; the end stays."""
        token = self.token
        self.token = next(self.others, token)
        return token


def joined(sign: str, left: Formula, right: Formula) -> Formula:
    """Return two formulas with an operator between them; a sum takes in the terms of a sum to its left."""
    match sign:
        case "*":
            return Product(left, right)
        case "/":
            return Quotient(left, right)
    terms = left.terms if isinstance(left, Sum) else ((False, left),)
    return Sum((*terms, (sign == "-", right)))


def members_in(token: FormulaToken) -> Members:
    """Return the dimensions in braces with their members. Raises FormulaFault for what does not name each once."""
    text, members = token.text, dict[str, tuple[str, ...]]()
    at = 1
    while True:
        entry = ENTRY.match(text, at)
        if entry is None:
            words = "braces hold dimension: member, or dimension: [member, member]; other characters stand in quotes"
            raise FormulaFault(words, token.position + at)
        if entry["key"] in members:
            raise FormulaFault(f"{entry['key']} stands in the braces twice", token.position + at)
        members[entry["key"]] = tuple(member.strip('"') for member in MEMBER.findall(entry["members"]))
        at = entry.end()
        if entry["next"] == "}":
            return tuple(members.items())


def misplaced(token: FormulaToken) -> FormulaFault:
    """Return the fault of a token that cannot stand where it does."""
    if token.kind is TokenKind.END:
        return FormulaFault("a name or a number is missing", token.position)
    return FormulaFault(f"'{token.text}' cannot stand there", token.position)


def number(token: FormulaToken) -> Exact:
    """Return a decimal constant. Raises FormulaFault for a number of another form, such as 0x10."""
    try:
        return Exact.of(token.text)
    except ValueError as fault:
        raise FormulaFault(f"'{token.text}' is no decimal number", token.position) from fault
