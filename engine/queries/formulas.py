"""Formulas of a request: their limits, and their names among the metrics and scenarios that the reader sees.

What an operand reads in place of the side of a column passes here before anything is read of it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from engine.books.member_names import close_to, resolve_member_names
from engine.books.reader import Reader
from engine.books.terms import meant
from engine.model.catalogue import (
    Base,
    Dimension,
    DimensionKind,
    FormulaLine,
    HeaderLine,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
)
from engine.model.errors import BadArguments, DimensionUnavailable, UnknownName, guess, quoted
from engine.model.figure_parts import FigureParts
from engine.model.formula_parser import VALID, TokenKind, parse, tokens
from engine.model.formulas import FigureType, Formula, FormulaFault
from engine.model.functions import LENGTH_TYPES, Members, OwnOperand, metrics_of, operands_in, types_of
from engine.model.metric_names import metrics_named
from engine.model.scenarios import Side, resolve_own_side, resolve_term, why_not_step
from engine.model.scope import ALL
from engine.model.stopping import watched
from engine.queries.filters import filter_of
from engine.queries.references import fault_of_side, nearest
from engine.queries.values import LONGEST_ALIAS, AdHocFormula, ScenarioColumn

MOST_FORMULAS = 10
LONGEST_FORMULA = 500
DEEPEST = 20
MOST_DIGITS = 30
NAMES = "list_kpis lists the metrics; a line is written statement.line."
MAX_OWN_SIDES = 200  # that operands read besides the columns
PLAIN = re.compile(r"\d+\.?\d*|\.\d+", re.ASCII)


def resolve_formulas(
    asked: Mapping[str, str], domain: str, headings: Collection[str], reader: Reader
) -> tuple[AdHocFormula, ...]:
    """Return the formulas of a request; `headings` are the aliases of its scenarios.

    Raises BadArguments for a formula beyond the limits or the grammar and for an alias that is taken, UnknownName for
    an unknown metric or line.
    """
    if len(asked) > MOST_FORMULAS:
        raise BadArguments(
            f"formulas has {len(asked)}; {MOST_FORMULAS} is the most.", field="formulas", got=dict(asked)
        )
    for alias in asked:
        refuse_taken(alias, headings, reader)
    return tuple(resolve_formula(alias, text, domain, reader) for alias, text in asked.items())


def refuse_taken(alias: str, headings: Collection[str], reader: Reader) -> None:
    """Raise BadArguments for an alias that is empty, too long, a metric or the alias of a scenario."""
    what = "a metric" if alias in reader.metrics else "the alias of a scenario" if alias in headings else None
    if not alias.strip() or len(alias) > LONGEST_ALIAS:
        what = f"not of 1 to {LONGEST_ALIAS} characters"
    if what:
        raise BadArguments(f"The alias {quoted([alias])} is {what}. Choose another.", field="formulas", got=alias)


def resolve_metric(name: str, reader: Reader, field: str, hint: str = "list_kpis lists the metrics.") -> Metric:
    """Return the metric of a key or term; UnknownName if there is none, BadArguments if it can mean several."""
    found = metrics_named(name, reader.metrics)
    if not found and (key := meant(name, "metric", field, reader)):
        return reader.metrics[key]
    if not found:
        raise UnknownName.of("metric", name, reader.metrics, field=field, hint=hint)
    if len(found) > 1:
        keys = [metric.key for metric in found]
        raise BadArguments(
            f"{quoted([name])} can mean {' or '.join(keys)}. Give the key of what you mean.",
            field=field,
            got=name,
            valid=keys,
        )
    return found[0]


def resolve_formula(alias: str, text: str, domain: str, reader: Reader) -> AdHocFormula:
    """Return one formula with its names resolved and its type."""
    field = f"formulas.{alias}"
    if len(text) > LONGEST_FORMULA:
        raise BadArguments(
            f"The formula {quoted([field])} has {len(text):,} characters; {LONGEST_FORMULA} is the most.",
            field=field,
            got=text,
        )

    def figure_named(name: str) -> str:
        own = f"{domain}.{name}"  # a bare name means the metric of the domain, where several have one
        statement, dot, line = name.partition(".")
        if dot and statement in reader.statements and not metrics_named(name, reader.metrics):
            return resolve_line(reader.statements[statement], line, field, reader)
        return resolve_metric(own if own in reader.metrics else name, reader, field, NAMES).key

    try:
        refuse_constants(text)
        formula = parse(
            text,
            figure_named,
            lambda own, at: own_side_of(own, at, field, reader),
            lambda name, cuts, at: own_cuts_of(figure_of(name, reader), cuts, at, field, reader),
        )
        figure = formula.type_of(types_of(formula, lambda name: figure_of(name, reader).type))
    except FormulaFault as fault:
        raise refusal(field, text, str(fault), fault.position) from fault
    if depth(formula) > DEEPEST:
        raise refusal(field, text, f"it nests deeper than {DEEPEST} levels", None)
    if figure is None or not metrics_of(formula):
        raise refusal(field, text, "it names no metric", None)
    return AdHocFormula(alias=alias, formula=formula, type=figure)


class OperandFigure(Struct, frozen=True):
    """What an operand of a formula is: a metric or a line of a statement."""

    key: str
    type: FigureType
    bases: frozenset[Base]


def figure_of(name: str, reader: Reader) -> OperandFigure:
    """Return the figure of a metric, or of a line by its statement."""
    if name in reader.metrics:
        metric = reader.metrics[name]
        return OperandFigure(name, metric.type, FigureParts.of(reader.catalogue, metric).bases)
    line, statement = reader.catalogue.line_named(name)
    bases = FigureParts.of(reader.catalogue, line, home=statement).bases
    match line:
        case FormulaLine(type=figure):
            return OperandFigure(name, figure, bases)
        case MetricLine(metric=metric_key):
            return OperandFigure(name, reader.metrics[metric_key].type, bases)
    return OperandFigure(name, next(iter(bases)).type, bases)


def resolve_line(statement: Statement, line: str, field: str, reader: Reader) -> str:
    """Return a line of a statement as an operand names it; UnknownName if it has none of that key that is visible."""
    lines = [
        known.key
        for known in statement.lines
        if not isinstance(known, HeaderLine)
        and (not isinstance(known, RollupLine) or known.node in reader.visible(known.dimension))
    ]
    if line not in lines:
        named = [f"{statement.key}.{key}" for key in lines]
        raise UnknownName.of(
            "line", f"{statement.key}.{line}", named, field=field, hint="run_statement shows the lines."
        )
    return f"{statement.key}.{line}"


def own_side_of(text: str, position: int, field: str, reader: Reader) -> str:
    """Return what stands in the brackets of an operand.

    Raises FormulaFault for what is no side by its grammar, UnknownName for a scenario that the caller does not see.
    """
    if resolve_own_side(text, reader.scenarios):
        return text
    steps = text.startswith("@")
    if fault := fault_of_side(f"x{text}" if steps else text, reader):
        raise FormulaFault(f"{quoted([text])} is no scenario and no steps of an operand: {fault}", position)
    names = text.partition("@")[0].split("+")
    unknown = next(name for name in names if resolve_term(name, reader.scenarios) is None)
    raise UnknownName.of(
        "scenario",
        unknown,
        reader.scenarios,
        field=field,
        hint="list_scenarios lists them.",
        close=nearest(unknown, reader.scenarios),
    )


def own_cuts_of(figure: OperandFigure, cuts: Members, position: int, field: str, reader: Reader) -> Members:
    """Return the members in the braces of an operand by their ids.

    Raises UnknownName for a dimension or a member that the caller does not see, DimensionUnavailable for a dimension
    that a domain of the metric lacks, BadArguments for a name of several members, AmbiguousWeight for members that
    weigh a leaf differently, and FormulaFault for two dimensions of one leaf.
    """
    members: list[tuple[str, tuple[str, ...]]] = []
    leaves: dict[str, str] = {}
    for key, names in cuts:
        dimension = own_dimension(figure, key, field, reader)
        if dimension.leaf in leaves:
            words = f"{leaves[dimension.leaf]} and {key} are of one dimension; name one of them in the braces"
            raise FormulaFault(words, position)
        leaves[dimension.leaf] = key
        if names == (ALL,) and dimension.kind is not DimensionKind.RAGGED:
            members.append((key, names))
            continue
        named = resolve_member_names(dimension, names, reader, field)
        if unknown := [member for member in watched(named.ids) if member not in named.visible]:
            close = close_to(key, unknown[:1], reader)
            words = f"There is no member {quoted(unknown[:1])} of {key}.{guess(close)} search_hierarchy finds the ids."
            raise UnknownName(words, field=field, got=unknown[0], valid=close, did_you_mean=close)
        filter_of(dimension, named.ids, reader)
        members.append((key, named.ids))
    return tuple(members)


def own_dimension(figure: OperandFigure, key: str, field: str, reader: Reader) -> Dimension:
    """Return a dimension that the members of an operand may be of.

    Raises UnknownName for one that the caller does not see, DimensionUnavailable for one of time, for an axis, and for
    one that a domain of the metric lacks.
    """
    dimension = reader.dimensions.get(key)
    bound = [base for base in figure.bases if not base.repeats] or figure.bases  # the others have no members
    lists = [{known.key for known in held(base, reader)} for base in bound]
    valid = [known for known in reader.dimensions if all(known in keys for keys in lists)]
    if dimension is None:
        raise UnknownName.of("dimension", key, valid, field=field, hint="list_dimensions lists them.")
    if key not in valid:
        what = "has the periods of the call; steps in brackets, as [@py], move them" if dimension.grain else ""
        what = what or ("can only be broken down by" if dimension.axis_only else f"is no dimension of {figure.key}")
        words = f"{figure.key}{{{key}: ...}} cannot be read: {key} {what}."
        raise DimensionUnavailable(words, field=field, got=key, valid=valid)
    return dimension


def held(base: Base, reader: Reader) -> Iterator[Dimension]:
    """Yield the dimensions of which an operand of a base may have members of its own."""
    domain = reader.catalogue.domains[base.domain]
    for dimension in reader.catalogue.dimensions_of(domain):
        if dimension.grain is None and not dimension.axis_only and dimension.key in reader.dimensions:
            yield dimension


def operand_columns(own_sides: Iterable[str], sides: Collection[Side], reader: Reader) -> tuple[ScenarioColumn, ...]:
    """Return what operands with sides of their own read where some sides are asked for, as columns.

    Raises BadArguments for too many.
    """
    own_steps = [own for text in sorted(own_sides) if (own := resolve_own_side(text, reader.scenarios))]
    read = dict.fromkeys(own.under(side) for own in own_steps for side in sides)
    if len(read) > MAX_OWN_SIDES:
        raise BadArguments(
            f"Operands of formulas would read {len(read)} scenarios and windows besides the columns; {MAX_OWN_SIDES} "
            "is the most. Ask for fewer scenarios, or for fewer formulas with brackets.",
            field="scenarios",
            got=[side.key for side in sides],
        )
    return tuple(ScenarioColumn(side, side.key) for side in read)


def refuse_operands_without_step(formulas: Sequence[AdHocFormula], sides: Collection[Side], reader: Reader) -> None:
    """Raise BadArguments for an operand of an opening or a mean of periods whose metric has none."""
    for formula in formulas:
        for operand in operands_in(formula.formula):
            text = operand.own if isinstance(operand, OwnOperand) else ""
            own = resolve_own_side(text, reader.scenarios) if text else None
            bases = figure_of(operand.figure, reader).bases if own else ()
            steps = dict.fromkeys(own.under(side).step for side in sides) if own else ()
            each = (why_not_step(step, base.over_members, base.over_time) for step in steps for base in bases)
            if why := next(filter(None, each), None):
                field = f"formulas.{formula.alias}"
                words = f"{operand.name} cannot be read: {why}. Take its brackets away, or name another metric."
                raise BadArguments(words, field=field, got=operand.name)


def refuse_lacking(
    formulas: Sequence[AdHocFormula], domain: str, dimensions: Sequence[Dimension], reader: Reader
) -> None:
    """Raise DimensionUnavailable for an operand of another domain that lacks a dimension of some, unless it repeats.

    `dimensions` are those of the filters and the breakdown of a call for metrics of `domain`.
    """
    for formula in formulas:
        for operand in operands_in(formula.formula):
            bases = () if operand.name in LENGTH_TYPES else figure_of(operand.figure, reader).bases
            own = {key for key, _ in operand.cuts} if isinstance(operand, OwnOperand) else set[str]()
            replaced = {reader.dimensions[key].leaf for key in own}
            for base in (base for base in bases if base.domain != domain and not base.repeats):
                held = reader.catalogue.domains[base.domain].dimensions
                lacking = [each.key for each in dimensions if each.leaf not in held and each.leaf not in replaced]
                if lacking and not is_of(operand.figure, domain, reader):
                    raise DimensionUnavailable(
                        f"{operand.name} is of {base.domain}, which has no {' and no '.join(lacking)}. Leave it out of "
                        "the formula, or the dimension out of the call.",
                        field=f"formulas.{formula.alias}",
                        got=operand.name,
                        valid=[known.key for known in reader.metrics.values() if known.domain == domain],
                    )


def is_of(figure: str, domain: str, reader: Reader) -> bool:
    """Tell whether a figure is a metric of a domain, whatever other domains its formula reads."""
    return figure in reader.metrics and reader.metrics[figure].domain == domain


def refuse_constants(text: str) -> None:
    """Raise FormulaFault for a constant that is too long or of another form than digits with a point."""
    for token in tokens(text):
        if token.kind is TokenKind.NUMBER and not (
            PLAIN.fullmatch(token.text) and len(token.text.replace(".", "")) <= MOST_DIGITS
        ):
            raise FormulaFault(f"a constant has at most {MOST_DIGITS} digits and no exponent", token.position)


def refusal(field: str, text: str, words: str, position: int | None) -> BadArguments:
    """Return the refusal of a formula: what is wrong, where, and the grammar."""
    at = f" at character {position}" if position else ""
    return BadArguments(f"{quoted([field])} is no formula{at}: {words}: {VALID}.", field=field, got=text)


def depth(formula: Formula) -> int:
    """Return how many levels of operations a formula nests."""
    return 1 + max(map(depth, formula.parts)) if formula.parts else 0
