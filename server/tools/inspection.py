"""Rows behind figures: which sources there are, what they show, and the rows themselves."""

from engine.catalogue import Dimension, Domain
from engine.queries.rows import inspection_sources, resolve_source, row_query, shown_columns
from engine.reader import Reader
from engine.report.inspection import column_of, inspect
from engine.requests import NothingAsked, RowsRequest, SourceRequest
from server.caller import Caller
from server.wire.answer import Answer, Json, inspected
from server.wire.fitting import Left, axes_of, fitted, listed

METRIC = (
    "A metric key of list_kpis, or statement.line of a statement: keeps the rows that make this figure, says what each "
    "contributes, and all together in contribution_total."
)
VIEW = (
    "A shifted view of scenario_id such as actual@py, or a blend such as actual+forecast: keeps what it reads of this "
    "scenario for the range asked for."
)
OTHER_SOURCES = "A source works by its key alone: get_inspection_schema describes it."
OTHER_COLUMNS = (
    "A column or filter works by its name alone. inspect_rows without `columns` shows them all; list_dimensions lists "
    "the dimensions to filter by."
)
COMPARED = "Scenario ids that a variance compares scenario_id with: keeps the rows that may be seen of all of them."


def list_inspection_sources(caller: Caller, _: NothingAsked) -> Answer:
    """List the sources whose rows may be inspected."""
    sources = [
        {"source_key": key, "label": domain.label, "domain": key, "grain": domain.grain.value}
        for key, domain in inspection_sources(caller.reader).items()
    ]
    return Answer(
        fitted(
            lambda left: listed("source", sources, "source_key", left),
            axes_of(source=sources),
            caller.answer_tokens,
            OTHER_SOURCES,
        )
    )


def get_inspection_schema(caller: Caller, asked: SourceRequest) -> Answer:
    """Describe the columns and filters of one source."""
    reader = caller.reader
    domain = resolve_source(asked.source_key, reader)
    columns = [column_json(name, domain, reader) for name in shown_columns(domain)]
    filters = [filter_json(dim) for dim in reader.catalogue.dimensions_of(domain) if dim.key in reader.dimensions]

    def build(left: Left) -> Json:
        return {
            "source_key": domain.key,
            "label": domain.label,
            "grain": domain.grain.value,
            **listed("column", columns, "name", left),
            **listed("filter", filters, "key", left),
            "figure_filters": {"metric": METRIC, "scenario": VIEW, "compared_with": COMPARED},
            "default_limit": caller.row_cap,
            "max_limit": caller.row_cap,
        }

    return Answer(fitted(build, axes_of(filter=filters, column=columns), caller.answer_tokens, OTHER_COLUMNS))


def filter_json(dimension: Dimension) -> Json:
    """Return one dimension that rows are filtered by; `(unassigned)` of one of time keeps rows without a date."""
    grain = {"grain": dimension.grain.value} if dimension.grain else {}
    return {"key": dimension.key, "label": dimension.label, "kind": dimension.kind.value, **grain}


def column_json(name: str, domain: Domain, reader: Reader) -> Json:
    """Return one column that rows show."""
    column = column_of(name, domain, reader)
    return {
        "name": name,
        "label": column.label,
        "type": "number" if column.kind == "amount" else column.kind,
        **({"unit": column.unit} if column.unit else {}),
    }


def inspect_rows(caller: Caller, asked: RowsRequest) -> Answer:
    """Show rows."""
    query = row_query(asked, caller.reader, caller.row_cap)
    inspection = inspect(query, caller.reader, caller.stop)
    return inspected(inspection, caller.datasets.keep(inspection), caller.answer_tokens)
