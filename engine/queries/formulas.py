"""Formulas of a request: their limits, and their names among the metrics that the reader sees."""

import re
from collections.abc import Collection, Mapping

from engine.books.reader import Reader
from engine.model.catalogue import Metric
from engine.model.errors import BadArguments, MixedDomains, UnknownName, first_of, quoted
from engine.model.formulas import VALID, Constant, Formula, FormulaFault, Operand, Product, Quotient, Sum, parse
from engine.model.metric_names import metrics_named
from engine.queries.values import LONGEST_ALIAS, AdHocFormula

MOST_FORMULAS = 10
LONGEST_FORMULA = 500
DEEPEST = 20
MOST_DIGITS = 30
NUMBER = re.compile(r"(?<![\w.])(?:\d|\.\d)[\w.]*")  # a constant, with whatever is written onto it
PLAIN = re.compile(r"\d+\.?\d*|\.\d+", re.ASCII)


def resolve_formulas(
    asked: Mapping[str, str], domain: str, headings: Collection[str], reader: Reader
) -> tuple[AdHocFormula, ...]:
    """Return the formulas of a request; `headings` are the aliases of its scenarios.

    Raises BadArguments for a formula beyond the limits or the grammar and for an alias that is taken, UnknownName for
    an unknown metric, and MixedDomains for a metric of another domain.
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
    """Return the metric of a name; UnknownName if there is none, BadArguments if several domains share the key."""
    found = metrics_named(name, reader.metrics)
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
    refuse_beyond_limits(field, text)

    def metric_named(name: str) -> str:
        own = f"{domain}.{name}"  # a bare name means the metric of the domain, where several have one
        metric = resolve_metric(own if own in reader.metrics else name, reader, field)
        if metric.domain != domain:
            raise mixed(metric, domain, field, name, reader)
        return metric.key

    try:
        formula = parse(text, metric_named)
        types = {name: reader.metrics[name].type for name in formula.names}
        figure = formula.type_of(types) if formula.names else None
    except FormulaFault as fault:
        indent = len(text) - len(text.lstrip())
        position = None if fault.position is None else indent + fault.position
        raise refusal(field, text, str(fault), position) from fault
    if depth(formula) > DEEPEST:
        raise refusal(field, text, f"it nests deeper than {DEEPEST} levels", None)
    if figure is None:
        raise refusal(field, text, "it names no metric", None)
    return AdHocFormula(alias=alias, formula=formula, type=figure)


def mixed(metric: Metric, domain: str, field: str, name: str, reader: Reader) -> MixedDomains:
    """Return the refusal of a metric of another domain; it names the metrics of the catalogue that read both."""
    of_both = [
        known.key for known in reader.metrics.values() if {domain, metric.domain} <= reader.catalogue.domains_of(known)
    ]
    others = f"These metrics read both domains: {first_of(of_both)}. Or ask" if of_both else "Ask"
    return MixedDomains(
        f"One call shows metrics of one domain: {metric.key} is of {metric.domain}, the others of {domain}. {others} "
        "for each domain in a call of its own, and compute with both results in eval_chart_transform.",
        field=field,
        got=name,
        valid=[known.key for known in reader.metrics.values() if known.domain == domain],
    )


def refuse_beyond_limits(field: str, text: str) -> None:
    """Raise BadArguments for a formula that is too long, has a comment, or a constant of another form."""
    if len(text) > LONGEST_FORMULA:
        raise BadArguments(
            f"The formula {quoted([field])} has {len(text):,} characters; {LONGEST_FORMULA} is the most.",
            field=field,
            got=text,
        )
    for at, character in enumerate(text, 1):
        if character in "#\\\n\r":
            raise refusal(field, text, f"{character!r} cannot stand in a formula: {VALID}", at)
    for found in NUMBER.finditer(text):
        if not PLAIN.fullmatch(found[0]) or len(found[0].replace(".", "")) > MOST_DIGITS:
            words = f"a constant has at most {MOST_DIGITS} digits and no exponent"
            raise refusal(field, text, words, found.start() + 1)


def refusal(field: str, text: str, words: str, position: int | None) -> BadArguments:
    """Return the refusal of a formula: what is wrong, where, and the grammar."""
    at = f" at character {position}" if position else ""
    grammar = "" if VALID in words else f": {VALID}"
    return BadArguments(f"{quoted([field])} is no formula{at}: {words}{grammar}.", field=field, got=text)


def depth(formula: Formula) -> int:
    """Return how many levels of operations a formula nests."""
    match formula:
        case Constant() | Operand():
            return 0
        case Sum(terms=terms):
            return 1 + max(depth(term) for _, term in terms)
        case Product(left=left, right=right):
            return 1 + max(depth(left), depth(right))
        case Quotient(over=over, under=under):
            return 1 + max(depth(over), depth(under))
    return 0
