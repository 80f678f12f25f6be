"""Prompts: the work of a month-end as instructions that name the calls, and completions of what they are given."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.calendar.periods import Grain
from engine.model.errors import BadArguments, UnknownName, closest
from engine.model.requests import Request
from engine.model.scenarios import live, resolve
from engine.plans.freshness import loaded_through
from engine.queries.ranges import LAST_CLOSED, LastClosed
from server.caller.caller import Caller
from server.tools.definitions import DEFINITIONS
from server.tools.examples import completion_example, prompt_example
from server.tools.tool import Tool
from server.wire.answers import Answer

MOST_VALUES = 100  # of a completion, as the protocol has it
LAST_PERIODS = 24  # months that a completion offers
Given = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest(Request):
    """A prompt with its arguments."""

    name: str
    """The name of the prompt."""
    arguments: dict[str, str] = field(default_factory=dict)
    """Its arguments by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest(Request):
    """An argument that is being written."""

    prompt: str = ""
    """The prompt whose argument it is."""
    template: str = ""
    """The template of resources whose argument it is."""
    argument: str
    """The name of the argument."""
    value: str
    """What is written so far."""


class Argument(Struct, frozen=True, kw_only=True):
    """An argument of a prompt: its words, its values with their labels, best first, and what else it may name."""

    description: str
    values: Callable[[Reader], Mapping[str, str]]
    names: Callable[[str, Reader], bool] = lambda _, __: False
    required: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    """One prompt: its words, its arguments, and the instruction that they make."""

    name: str
    title: str
    description: str
    asked_when: str  # what a user says that calls for it
    arguments: Mapping[str, Argument]
    text: Callable[[Given, Reader], str]


def statements(reader: Reader) -> Mapping[str, str]:
    """Return the statements, the default first."""
    default = default_statement(reader)
    return {key: reader.statements[key].label for key in sorted(reader.statements, key=lambda key: key != default)}


def default_statement(reader: Reader) -> str:
    """Return the statement that a call without one shows, else the first."""
    default = reader.catalogue.default.statement
    return default if default is not None and default in reader.statements else next(iter(reader.statements), "")


def metrics(reader: Reader) -> Mapping[str, str]:
    """Return the metrics."""
    return {key: metric.label for key, metric in reader.metrics.items()}


def scenarios(reader: Reader) -> Mapping[str, str]:
    """Return the scenarios."""
    return {key: scenario.alias for key, scenario in reader.scenarios.items()}


def periods(reader: Reader) -> Mapping[str, str]:
    """Return the last months with data, the latest first, and the years that hold them."""
    calendar = reader.catalogue.calendar
    codes = [code for domain in reader.domains.values() for code in loaded_through(reader, domain).values()]
    through = max((calendar.parse(code).last for code in codes), default=None)
    found: dict[str, str] = {}
    for grain in (Grain.MONTH, Grain.YEAR):
        last = calendar.at(through, grain) if through and grain in calendar.grains else None
        ordinals = range(last.ordinal, last.ordinal - LAST_PERIODS, -1) if last else ()
        shown = [calendar.period(grain, at) for at in ordinals if at in calendar.ordinals[grain]]
        found |= {period.code: period.label for period in shown}
    return found


def is_period(text: str, reader: Reader) -> bool:
    """Tell whether a text names a period, as people write it. Raises BadPeriod if it does not."""
    domains = tuple(reader.domains.values())
    last_closed = LastClosed(reader, domains, reader.domains, live(reader.scenarios).values())
    return LAST_CLOSED.fullmatch(text) is not None or bool(last_closed.period_of(text, "period"))


def is_reference(text: str, reader: Reader) -> bool:
    """Tell whether a text names a scenario, a shifted view or a comparison."""
    return resolve(text, reader.scenarios) is not None


PERIOD = Argument(
    description="The period, such as last_closed or a code: YYYY-MM, YYYY-Qn, YYYY. Left out: last_closed.",
    values=periods,
    names=is_period,
)
METRIC = Argument(description="The key of a metric; list_kpis lists them.", values=metrics, required=True)
STATEMENT = Argument(description="The key of a statement. Left out: the default.", values=statements)
BASE = Argument(
    description="What to compare with: a scenario or a view of one, ID@py. Left out: the budget, else the year before.",
    values=scenarios,
    names=is_reference,
)
BEFORE = Argument(
    description="What to compare with: a scenario or a view of one, ID@py. Left out: the period before.",
    values=scenarios,
    names=is_reference,
)
SCENARIO = Argument(description="The scenario. Left out: the first.", values=scenarios, names=is_reference)


def month_end_review(given: Given, reader: Reader) -> str:
    """Return how to review a closed period."""
    period, statement = given.get("period", "last_closed"), given.get("statement", default_statement(reader))
    scenario, base = scenario_of(reader), base_of(given, reader)
    return f"""Review the month-end of {period}.

1. Call list_load_history. Say which loads failed or are late, and which data is therefore not final.
2. Call run_statement with statement {statement}, period_start {period}, and the scenarios {scenario}, \
{base}, var({scenario},{base}) and var_pct({scenario},{base}), each with a short alias.
3. Read the notes. A blank is not zero: say which figures are blank, and why the note says so.
4. Take the three variances that matter most by amount. For each, call explain_variance with metric {statement}.LINE \
(LINE is the key of its row), scenarios [{scenario}, {base}] and by, the dimensions that fit it best, until the cause \
has a name.
5. For the largest cause, call inspect_rows with the drill of its row, and name the postings.
6. Write the review: one paragraph for the result, one for each of the three causes with its figure, one for what is \
not final. Quote figures as they were returned, with currency and period. Do not compute figures that a call returns."""


def variance_commentary(given: Given, reader: Reader) -> str:
    """Return how to comment on a variance."""
    metric, period = given["metric"], given.get("period", "last_closed")
    scenario, base = scenario_of(reader), base_of(given, reader)
    return f"""Comment on the variance of {metric} in {period}, {scenario} against {base}.

1. Call list_kpis for the formula of {metric} and the dimensions that cut it.
2. Call explain_variance with metric {metric}, scenarios [{scenario}, {base}], period_start {period}, top 5, and by: \
lines if it has a formula, and the one or two dimensions that fit the question best. The contributions of each list \
add up to the variance; the row (others) holds the rest.
3. Run the same with {scenario}@py in place of {base}, to tell a one-off from a trend.
4. Call inspect_rows with the drill of the largest row, and name what is behind it.
5. Write at most five sentences: the variance and its direction, the causes with their contributions, what is a \
one-off, and what is open. `favourable` says whether a contribution is good."""


def tie_out(given: Given, reader: Reader) -> str:
    """Return how to tie a figure to its rows."""
    metric, period = given["metric"], given.get("period", "last_closed")
    scenario = given.get("scenario", scenario_of(reader))
    return f"""Tie {metric} of {scenario} in {period} out to its rows.

1. Call run_metric with metrics [{metric}], scenarios [{scenario}] and period_start {period}. Keep its figure, its \
notes and its freshness.
2. If the metric is a formula, run its operands (list_kpis shows the formula) and tie out each of them.
3. Call inspect_rows with the drill of the figure. `figure` says what all rows together make, also those that the \
limit leaves out; it must equal the figure of the report to the last digit.
4. Call export_dataset with the data_ref of the inspection, so that the rows can be filed.
5. Say: the figure, the number of rows, their sum, whether they tie, the loads that brought them, and anything that \
the notes leave open."""


def board_summary(given: Given, reader: Reader) -> str:
    """Return how to sum up a period for a board."""
    period, statement = given.get("period", "last_closed"), given.get("statement", default_statement(reader))
    scenario, base = scenario_of(reader), base_of(given, reader)
    return f"""Write a summary of {period} for the board, on one page.

1. Call run_statement with statement {statement}, period_start {period}, and the scenarios {scenario}, \
{base}, {scenario}@py, var({scenario},{base}) and var_pct({scenario},{base}).
2. Call run_metric for the two or three metrics that carry the story, by month over the last twelve months, and \
eval_chart_transform to draw the one that a picture serves best.
3. Name the three largest causes of the variance; call explain_variance by lines and by a dimension to find them.
4. Write: the result in one sentence; then what moved it, what is expected next if a forecast is loaded, and the \
risks that the notes and the freshness show. Round amounts to millions or thousands, say the currency once, and \
attach the export of the statement (export_dataset, xlsx)."""


def flux(given: Given, reader: Reader) -> str:
    """Return how to explain what moved since the period before."""
    period, statement = given.get("period", "last_closed"), given.get("statement", default_statement(reader))
    scenario = scenario_of(reader)
    base = given.get("base", f"{scenario}@pp")
    return f"""Explain what moved in {period}, {scenario} against {base}.

1. Ask the user which movements count: beyond a percentage, an amount, or both. Without an answer take 5 percent.
2. Call run_statement with statement {statement}, period_start {period}, and the scenarios {scenario}, \
{base}, var({scenario},{base}) and var_pct({scenario},{base}), each with a short alias.
3. Name the lines whose movement counts. A line with a figure in one period alone counts; a ratio moves by points.
4. For each of them call explain_variance with metric {statement}.LINE (LINE is the key of its row), scenarios \
[{scenario}, {base}], period_start {period}, the materiality that was agreed, and by, the dimensions that fit it best.
5. For the largest row of each, call inspect_rows with its drill, and say what is behind it: timing, volume, price, a \
correction, or one event.
6. Write a table of the lines that count: both figures, the movement in amount and percent, its cause in one sentence, \
and whether it comes again. Say how many lines do not count, and what is open."""


def scenario_of(reader: Reader) -> str:
    """Return the scenario to review: the first of actuals, else the first; SCENARIO where the caller sees none."""
    keys = sorted(live(reader.scenarios), key=lambda key: reader.scenarios[key].kind != "actual")
    return next(iter(keys), "SCENARIO")


def base_of(given: Given, reader: Reader) -> str:
    """Return the reference to compare with: the one given, else a budget, else the year before."""
    reviewed = scenario_of(reader)
    budgets = (key for key, scenario in live(reader.scenarios).items() if scenario.kind == "budget" and key != reviewed)
    return given.get("base", next(budgets, f"{reviewed}@py"))


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            name="month_end_review",
            title="Month-end review",
            description="Review a closed period: loads, statement, the variances that matter, and their causes.",
            asked_when="Use it when a user asks for a month-end, a close or a review of a period.",
            arguments={"period": PERIOD, "statement": STATEMENT, "base": BASE},
            text=month_end_review,
        ),
        Prompt(
            name="variance_commentary",
            title="Variance commentary",
            description="Say in five sentences why a metric differs from budget.",
            asked_when="Use it when a user asks why a figure is above or below budget, plan or the year before.",
            arguments={"metric": METRIC, "period": PERIOD, "base": BASE},
            text=variance_commentary,
        ),
        Prompt(
            name="tie_out",
            title="Tie a figure out",
            description="Tie a figure to its rows, to the last digit.",
            asked_when="Use it when a user asks where a figure comes from, or for proof that it ties out.",
            arguments={
                "metric": METRIC,
                "period": PERIOD,
                "scenario": SCENARIO,
            },
            text=tie_out,
        ),
        Prompt(
            name="board_summary",
            title="Board summary",
            description="Sum a period up for the board, with a picture and the export.",
            asked_when="Use it when a user asks for a board pack, a management summary or one page on a period.",
            arguments={"period": PERIOD, "statement": STATEMENT, "base": BASE},
            text=board_summary,
        ),
        Prompt(
            name="flux",
            title="Flux analysis",
            description="Explain each line that moved since the period before, beyond a percentage or an amount.",
            asked_when="Use it when a user asks for a flux analysis, or what changed since last month.",
            arguments={"period": PERIOD, "statement": STATEMENT, "base": BEFORE},
            text=flux,
        ),
    )
}


def get_prompt(caller: Caller, asked: PromptRequest) -> Answer:
    """Return the instruction of a prompt. Refuses names that these books do not have."""
    prompt = PROMPTS.get(asked.name)
    if prompt is None:
        raise UnknownName.of("prompt", asked.name, PROMPTS, field="name", hint="prompts/list lists the prompts.")
    refuse_arguments(prompt, asked.arguments, caller.reader)
    return Answer({"description": prompt.description, "text": prompt.text(asked.arguments, caller.reader)})


def refuse_arguments(prompt: Prompt, given: Given, reader: Reader) -> None:
    """Refuse arguments that a prompt does not take, lacks, or that name nothing in these books."""
    for name in given:
        if name not in prompt.arguments:
            hint = f"{prompt.name} takes {', '.join(prompt.arguments)}."
            raise UnknownName.of("argument", name, prompt.arguments, field=name, hint=hint)
    for name, argument in prompt.arguments.items():
        if argument.required and name not in given:
            raise BadArguments(f"{prompt.name} needs the argument {name}. {argument.description}", field=name)
    for name, value in given.items():
        argument = prompt.arguments[name]
        if value not in argument.values(reader) and not argument.names(value, reader):
            raise UnknownName.of(name, value, argument.values(reader), field=name, hint=argument.description)


def complete(caller: Caller, asked: CompletionRequest) -> Answer:
    """Return the values that an argument can take and that begin with, hold or resemble what is written so far."""
    found = list(matching(asked.value, values_of(asked, caller.reader)))
    return Answer({"values": found[:MOST_VALUES], "total": len(found), "has_more": len(found) > MOST_VALUES})


def values_of(asked: CompletionRequest, reader: Reader) -> Mapping[str, str]:
    """Return the values of an argument of a prompt or template with their labels; none of one that is not there."""
    for kind in DEFINITIONS:
        if (asked.template, asked.argument) == (kind.template, kind.name):
            return {key: known.label for key, known in kind.of(reader).items()}
    prompt = PROMPTS.get(asked.prompt)
    argument = prompt.arguments.get(asked.argument) if prompt else None
    return argument.values(reader) if argument else {}


def matching(written: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the values that begin with a text, then those that hold it in key or label; without any, those close."""
    text = written.casefold()
    first = [key for key in values if key.casefold().startswith(text)]
    held = [key for key, label in values.items() if text in key.casefold() or text in label.casefold()]
    yield from dict.fromkeys([*first, *held]) or closest(written, list(values))


GET_PROMPT = Tool(
    name="prompts/get",
    title="Get a prompt",
    description="Return the instruction of a prompt for some arguments.",
    request=PromptRequest,
    run=get_prompt,
    example=prompt_example,
)
COMPLETE = Tool(
    name="completion/complete",
    title="Complete an argument",
    description="Return the values that an argument of a prompt or a resource template can take.",
    request=CompletionRequest,
    run=complete,
    example=completion_example,
)
