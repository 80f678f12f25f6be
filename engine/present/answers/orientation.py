"""Answers: the orientation, which is what a first call asks for, within the token budget."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from engine.books.reader import Reader
from engine.books.terms import report_terms
from engine.model.calendar.periods import Grain, Period
from engine.model.catalogue import Catalogue, Domain
from engine.model.fact_store import Presence
from engine.model.scenarios import live, resolve
from engine.model.scope import EVERYTHING
from engine.model.stopping import Stop, watched
from engine.present.answers.budget import Json, LeftOut, axes_of, cut_list, list_fields, split

MOST_METRICS, MOST_DIMENSIONS, MOST_SCENARIOS = 80, 40, 20  # that are named; of more, the number
MAX_FREEZES = 2  # that are named
MAX_TERMS = 40  # of metrics and statements
MOST_IN_SCOPE = 20  # members that are named of a dimension
OTHER_STATEMENTS = (
    "The deployment's own prose is cut at its end. A statement works by its key alone; run_statement answers a key "
    "that it does not know with the closest that exist. list_kpis lists the domains."
)


def orientation_answer(reader: Reader, guidance: Sequence[str], budget: int, stop: Stop) -> Json:
    """Return what the books hold; `guidance` says how to ask about them, a paragraph each."""
    catalogue = reader.catalogue
    own = (catalogue.orientation or "").strip()
    statements = [{"key": key, "label": statement.label} for key, statement in reader.statements.items()]
    domains = [domain_json(domain, reader) for domain in reader.domains.values()]
    named = named_parts(reader)
    sizes = [size_of(domain["metrics"]) for domain in domains]

    def build(left: LeftOut) -> Json:
        prose = own[: len(own) - left["prose_characters"]]
        cuts = split(left["metrics"], sizes)
        shown = [
            {**domain, "metrics": cut_names(domain["metrics"], cut)} for domain, cut in zip(domains, cuts, strict=True)
        ]
        paragraphs = [f"# {catalogue.name}", *([prose] if prose else []), fiscal_words(catalogue), *guidance]
        return {
            "orientation": "\n\n".join(paragraphs),
            "name": catalogue.name,
            "currency": catalogue.currency,
            **{name: cut_names(part, left.get(name, 0)) for name, part in named.items()},
            **list_fields("statement", statements, "key", left),
            **list_fields("domain", shown, "key", left),
            "catalogue_version": catalogue.version,
            "data_version": reader.data_version,
        }

    beyond = max(0, len(own) - budget)  # the rest is less than half of the budget
    axes = {
        "prose_characters": beyond,
        "metrics": sum(sizes),
        "dimensions": size_of(named.get("dimensions")),
        **axes_of(domain=domains, statement=statements),
        "scenarios": size_of(named.get("scenarios")),
        "scope": size_of(named.get("scope")),
        "terms": size_of(named.get("terms")),
        "not_held": size_of(named.get("not_held")),
    }
    return cut_list(build, axes, OTHER_STATEMENTS, budget, stop)


def size_of(names: Json | list[str] | int | None) -> int:
    """Return how many names a part has that are named, not counted."""
    return len(names) if isinstance(names, dict | list) else 0


def cut_names(names: Json | list[str] | int, left: int) -> Json | list[str] | int:
    """Return names without the last ones."""
    if isinstance(names, list):
        return names[: len(names) - left]
    return dict(islice(names.items(), len(names) - left)) if isinstance(names, dict) and left else names


def named_parts(reader: Reader) -> Json:
    """Return what a report is asked by: fiscal year, default, scenarios, dimensions, scope; none that is empty."""
    loaded = {key: presences(key, reader) for key in live(reader.scenarios)}
    dimensions = {key: dimension.label for key, dimension in reader.dimensions.items()}
    parts = {
        "fiscal_year": fiscal_year(loaded, reader.catalogue),
        "default": default_json(reader),
        "scenarios": scenarios_json(loaded, reader),
        "freezes": newest_freezes(reader),
        "dimensions": dimensions if len(dimensions) <= MOST_DIMENSIONS else len(dimensions),
        "scope": scope_json(reader),
        "terms": terms_json(reader),
        "not_held": list(reader.catalogue.vocabulary.not_held),
    }
    return {name: part for name, part in parts.items() if part}


def terms_json(reader: Reader) -> Json | int:
    """Return what each term of visible metrics and statements means, or the number of terms if they are many."""
    terms = {readings[0].term: readings for readings in report_terms(reader).values()}
    if len(terms) > MAX_TERMS:
        return len(terms)
    return {term: ", ".join(reading.words for reading in readings) for term, readings in terms.items()}


def fiscal_words(catalogue: Catalogue) -> str:
    """Return the definition of fiscal years and quarters in words."""
    calendar = catalogue.calendar
    year = calendar.parse(calendar.grains[Grain.YEAR].example)
    parts = [calendar.at(year.first, grain) for grain in (Grain.YEAR, Grain.QUARTER, Grain.MONTH)]
    if trading := calendar.grains.get(Grain.TRADING_PERIOD):
        parts.append(calendar.parse(trading.example))
    examples = ", ".join(f"{part.code} is {part.label}" for part in parts if part and part.code != part.label)
    return (
        f"Amounts are in {catalogue.currency}. A period is {calendar.codes}: {examples}. Both bounds of a range have "
        "one grain."
    )


def domain_json(domain: Domain, reader: Reader) -> Json:
    """Return a domain with its metrics: their labels by key, or their number in large books."""
    metrics = {key: metric.label for key, metric in reader.metrics.items() if metric.domain == domain.key}
    shown = metrics if len(reader.metrics) <= MOST_METRICS else len(metrics)
    return {"key": domain.key, "label": domain.label, "metrics": shown}


def presences(scenario: str, reader: Reader) -> list[Presence]:
    """Return the days that a scenario has rows for, of each domain that has any."""
    found = (reader.presence(domain, scenario, EVERYTHING) for domain in reader.domains)
    return [presence for presence in found if presence.dates]


def scenarios_json(loaded: Mapping[str, Sequence[Presence]], reader: Reader) -> Json | int:
    """Return the alias of each scenario and the months of its first and last rows, or their number if they are many."""
    if len(loaded) > MOST_SCENARIOS:
        return len(loaded)
    calendar = reader.catalogue.calendar
    found = {}
    for key, known in loaded.items():
        days = [day for presence in known for day in (presence.dates[0], presence.dates[-1])]
        bounds = {"first": min(days), "last": max(days)} if days else {}
        months = {name: calendar.code_at(day, Grain.MONTH) for name, day in bounds.items()}
        found[key] = {"alias": reader.scenarios[key].alias, **months}
    return found


def newest_freezes(reader: Reader) -> Json:
    """Return the newest freezes with the number of all; nothing where there are none."""
    freezes = [key for key, scenario in reader.scenarios.items() if scenario.base]
    return {"number": len(freezes), "newest": freezes[: -MAX_FREEZES - 1 : -1]} if freezes else {}


def fiscal_year(loaded: Mapping[str, Sequence[Presence]], catalogue: Catalogue) -> Json:
    """Return the fiscal year of the last rows, with its days."""
    last = max((presence.dates[-1] for known in loaded.values() for presence in known), default=None)
    year = None if last is None else catalogue.calendar.at(last, Grain.YEAR)
    return {} if year is None else year_json(year)


def year_json(year: Period) -> Json:
    """Return the code and the days of a year."""
    return {"year": year.code, "first_day": year.first.isoformat(), "last_day": year.last.isoformat()}


def default_json(reader: Reader) -> Json:
    """Return what a report shows that names nothing: the visible of its statement, scenarios and period."""
    default = reader.catalogue.default
    scenarios = [key for key, _ in default.scenarios if resolve(key, reader.scenarios)]
    return {
        **({"statement": default.statement} if default.statement in reader.statements else {}),
        **({"scenarios": scenarios} if scenarios else {}),
        **({"period_start": default.period_start} if default.period_start else {}),
        **({"period_end": default.period_end} if default.period_end else {}),
    }


def scope_json(reader: Reader) -> Json:
    """Return the visible members and nodes that the caller's allow-lists name, by dimension; never what is denied."""
    found: dict[str, dict[str, None]] = {}
    for dimension, member in allowed(reader):
        if dimension in reader.dimensions and reader.sees(dimension, member):
            found.setdefault(dimension, {})[member] = None
    return {
        dimension: [*list(members)[:MOST_IN_SCOPE], *(["…"] if len(members) > MOST_IN_SCOPE else [])]
        for dimension, members in found.items()
    }


def allowed(reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the dimension and id of each member that an allow-list of the caller names for a visible scenario."""
    for profile in reader.profiles:
        for scenario in reader.scenarios.values():
            grant = profile.grant(scenario)
            for cut in grant.dimensions if grant else ():
                if not cut.deny:
                    yield from ((cut.dimension, member) for member in watched(cut.ids))
