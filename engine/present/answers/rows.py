"""Answers: inspected rows, their sources and transforms as result objects within the token budget."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from engine.books.reader import Reader
from engine.model.catalogue import Dimension, Domain
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.notes import notes_as_data
from engine.model.stopping import Stop, never, watched
from engine.present.answers.budget import (
    NOT_KEPT,
    DataRef,
    Json,
    LeftOut,
    UncutAnswer,
    axes_of,
    cut_list,
    fitted,
    list_fields,
    most_entries,
    period_json,
    without_defaults,
)
from engine.present.answers.full_reports import freshness_json, full_period_json
from engine.present.answers.reports import short_freshness
from engine.queries.rows import inspection_sources, shown_columns
from engine.report.inspection import Inspection, RowColumn, RowValue, column_of
from engine.report.transform import Transform

# Inspections: a preview of the rows, and the total contribution of all of them.
#
# Rows are arrays aligned with the columns. If they do not all fit, the preview drops rows from the end and
# `agent_truncated` is true. `truncated` is true if the source has more rows than the limit. An answer names the first
# date spans and counts the others.


RowJson = list[int | float | str | None]
MOST_SPANS = 50  # date spans that an answer names
OF_ROWS = ("columns", "rows", "agent_truncated")  # what a summary leaves out


def rows_answer(
    inspection: Inspection,
    budget: int,
    data_ref: DataRef = NOT_KEPT,
    stop: Stop = never,
    *,
    is_summary: bool = False,
) -> Json:
    """Return the result object of an inspection, at most about `budget` tokens long as JSON text.

    A summary has no rows and no columns.
    """
    count = len(inspection.rows)
    most = 0 if is_summary else most_entries(budget, len(inspection.columns))

    def build(left: LeftOut) -> Json:
        whole = rows_result(inspection, count - left["rows"], data_ref)
        return summed_up(whole) if is_summary else whole

    result = fitted(build, {"rows": count}, budget, stop, max(0, count - most))
    if result is None:
        raise BadArguments(
            f"Even without rows this answer is longer than {budget} tokens. Name fewer columns.",
            field="columns",
            got=len(inspection.columns),
        )
    return result


def summed_up(result: Json) -> Json:
    """Return the result object of rows without them and their columns, whose units stand with the sums."""
    units = {column["name"]: column["unit"] for column in result["columns"] if "unit" in column}
    sums = {
        name: {**figures, **without_defaults({"unit": units.get(name)}, {"unit": None})}
        for name, figures in result.get("sums", {}).items()
    }
    rest = {key: part for key, part in result.items() if key not in OF_ROWS}
    return {**rest, **({"sums": sums} if sums else {})}


def whole_rows(inspection: Inspection, stop: Stop) -> UncutAnswer:
    """Return the result object with all rows; calls `stop` between rows."""
    amounts = [at for at, column in enumerate(inspection.columns) if column.kind == "amount"]
    strings: set[int] = set()
    for row in inspection.rows:
        stop()
        strings.update(at for at in amounts if isinstance(value_json(row[at]), str))
    period = {} if inspection.period is None else {"period": full_period_json(inspection.period)}
    result = described(inspection, (), strings, inspection.labels, len(inspection.rows), NOT_KEPT)
    return UncutAnswer({**result, **period, **details(inspection)}, map(row_json, inspection.rows))


def rows_result(inspection: Inspection, shown: int, data_ref: DataRef) -> Json:
    """Return the result object with the first `shown` rows."""
    rows = [row_json(row) for row in watched(inspection.rows[:shown])]
    strings = {at for row in watched(rows) for at, value in enumerate(row) if isinstance(value, str)}
    return described(inspection, rows, strings, labels_shown(inspection, rows), shown, data_ref)


def row_json(row: Sequence[RowValue]) -> RowJson:
    """Return one row as JSON."""
    return [value_json(value) for value in row]


def described(
    inspection: Inspection,
    rows: Sequence[RowJson],
    strings: Collection[int],
    labels: Mapping[str, Mapping[str, str]],
    shown: int,
    data_ref: DataRef,
) -> Json:
    """Return the result object around rows. The columns at `strings` hold digits as text."""
    period = {} if inspection.period is None else {"period": period_json(inspection.period)}
    notes = data_ref.notes(inspection.notes)
    loaded = short_freshness(inspection.freshness)
    days = [[span.first.isoformat(), span.last.isoformat()] for span in inspection.read if inspection.period]
    return {
        "source_key": inspection.source,
        "source_label": inspection.source_label,
        "scenario_id": inspection.scenario,
        **period,
        **({"chosen": dict(inspection.chosen)} if inspection.chosen else {}),
        "days_read": days[:MOST_SPANS],
        **({"more_days_read": len(days) - MOST_SPANS} if len(days) > MOST_SPANS else {}),
        "columns": [column_json(column, is_text=at in strings) for at, column in enumerate(inspection.columns)],
        "rows": rows,
        **({"labels": labels} if labels else {}),
        "row_count": len(inspection.rows),
        "truncated": inspection.truncated,
        "agent_truncated": shown < len(inspection.rows),
        **totals_json(inspection),
        **contributed_json(inspection),
        **({"notes": notes} if notes else {}),
        **({"freshness": loaded} if loaded else {}),
        **data_ref.as_data(),
    }


def details(inspection: Inspection) -> Json:
    """Return what only programs need of inspected rows: their loads and the versions of the books."""
    return {
        "freshness": freshness_json(inspection.freshness),
        "catalogue_version": inspection.catalogue_version,
        "data_version": inspection.data_version,
    }


def totals_json(inspection: Inspection) -> Json:
    """Return the number of all rows, shown or not, of groups of them, and the sums of both signs by column."""
    totals = inspection.totals
    if totals is None:
        return {}
    sums = {
        name: {"sum": sums.sum.as_json(), "positive": sums.positive.as_json(), "negative": sums.negative.as_json()}
        for name, sums in totals.sums.items()
    }
    return {
        "total_rows": totals.rows,
        **({"total_groups": inspection.groups} if inspection.groups is not None else {}),
        **({"sums": sums} if sums else {}),
        **({"text_searched": list(inspection.searched)} if inspection.searched else {}),
    }


def contributed_json(inspection: Inspection) -> Json:
    """Return the total contribution of all rows, and the resulting figure, which rows that are left out would make."""
    if inspection.figure is None:
        return {}
    total, divisor, figure = inspection.contribution_total, inspection.divisor, inspection.figure_amount
    contribution = {
        "metric": inspection.figure,
        "metric_label": inspection.figure_label,
        "contribution_total": value_json(total) if isinstance(total, Exact) else None,
    }
    if not inspection.makes_figure:
        return contribution
    return {
        **contribution,
        **({"divisor": divisor.as_json()} if divisor != Exact(1) else {}),
        "figure": figure.as_json(quotient=inspection.quotient) if isinstance(figure, Exact) else None,
    }


def value_json(value: RowValue) -> int | float | str | None:
    """Return one value as JSON."""
    return value.as_json() if isinstance(value, Exact) else value


def column_json(column: RowColumn, *, is_text: bool) -> Json:
    """Return the description of a column. If `is_text`, its amounts are digits as text."""
    return {
        "name": column.name,
        **without_defaults({"label": column.label}, {"label": column.name}),
        "type": "number" if column.kind == "amount" else column.kind,
        **({"unit": column.unit, "places": column.places} if column.kind == "amount" else {}),
        **({"exact_strings": True} if is_text and column.kind == "amount" else {}),
    }


def labels_shown(inspection: Inspection, rows: Sequence[Sequence[object]]) -> Json:
    """Return the labels of the members in some rows."""
    labels: Json = {}
    for at, column in enumerate(inspection.columns):
        names = inspection.labels.get(column.name, {})
        ids = {row[at] for row in watched(rows)}
        names_of_rows = {member: label for member, label in watched(names.items()) if member in ids}
        if names_of_rows:
            labels[column.name] = names_of_rows
    return labels


# Sources: which there are, and what one shows.


METRIC_FILTER = (
    "A metric key of list_kpis, or statement.line of a statement: keeps the rows that make this figure, says what each "
    "contributes, and all together in contribution_total."
)
VIEW = (
    "A shifted view of scenario_id such as actual@py, or a blend such as actual+forecast: keeps what it reads of this "
    "scenario for the range asked for. A view of one scenario may stand in scenario_id itself."
)
COMPARED = "Scenario ids that a variance compares scenario_id with: keeps the rows that may be seen of all of them."
OTHER_SOURCES = "A source works by its key alone: get_inspection_schema describes it."
OTHER_COLUMNS = (
    "A column or filter works by its name alone. inspect_rows without `columns` shows them all; list_dimensions lists "
    "the dimensions to filter by."
)


def sources_answer(reader: Reader, budget: int, stop: Stop) -> Json:
    """Return the sources whose rows may be inspected."""
    sources = [
        {"source_key": key, "label": domain.label, "domain": key, "grain": domain.grain.value}
        for key, domain in inspection_sources(reader).items()
    ]
    return cut_list(
        lambda left: list_fields("source", sources, "source_key", left),
        axes_of(source=sources),
        OTHER_SOURCES,
        budget,
        stop,
    )


def source_answer(domain: Domain, row_cap: int, reader: Reader, budget: int, stop: Stop) -> Json:
    """Return the columns and filters of one source."""
    columns = [source_column_json(column_of(name, domain, reader)) for name in shown_columns(domain)]
    filters = [filter_json(dim) for dim in reader.catalogue.dimensions_of(domain) if dim.key in reader.dimensions]

    def build(left: LeftOut) -> Json:
        return {
            "source_key": domain.key,
            "label": domain.label,
            "grain": domain.grain.value,
            **list_fields("column", columns, "name", left),
            **list_fields("filter", filters, "key", left),
            "figure_filters": {"metric": METRIC_FILTER, "scenario": VIEW, "compared_with": COMPARED},
            "default_limit": row_cap,
            "max_limit": row_cap,
        }

    return cut_list(build, axes_of(filter=filters, column=columns), OTHER_COLUMNS, budget, stop)


def filter_json(dimension: Dimension) -> Json:
    """Return one dimension that rows are filtered by; `(unassigned)` of one of time keeps rows without a date."""
    grain = {"grain": dimension.grain.value} if dimension.grain else {}
    return {"key": dimension.key, "label": dimension.label, "kind": dimension.kind.value, **grain}


def source_column_json(column: RowColumn) -> Json:
    """Return one column that rows show."""
    return {
        "name": column.name,
        "label": column.label,
        "type": "number" if column.kind == "amount" else column.kind,
        **({"unit": column.unit} if column.unit else {}),
    }


# Transforms: a script's table, its inputs, and how far its figures can be trusted.


TYPES: dict[type[pl.DataType], str] = {
    pl.String: "text",
    pl.Int64: "integer",
    pl.UInt32: "integer",
    pl.Float64: "number",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.Datetime: "datetime",
    pl.Time: "time",
    pl.List: "list",
}


def whole_transform(transform: Transform, _: Stop) -> UncutAnswer:
    """Return the result object of a transform with all rows, as arrays aligned with the columns."""
    result = {
        "title": transform.label,
        "columns": columns_json(transform),
        "inputs": list(transform.inputs),
        "transform_code": transform.code,
        "chart_spec": dict(transform.chart),
        "notes": notes_as_data(transform.notes),
        "freshness": freshness_json(transform.freshness),
        "catalogue_version": transform.catalogue_version,
        "data_version": transform.data_version,
    }
    return UncutAnswer(result, map(list, transform.frame.iter_rows()))


def columns_json(transform: Transform) -> list[Json]:
    """Return the columns of a transform: name, type and known unit."""
    return [
        {
            "name": name,
            "type": TYPES[dtype.base_type()],
            **({"unit": transform.units[name]} if name in transform.units else {}),
        }
        for name, dtype in transform.frame.schema.items()
    ]
