"""From an extract to the columns of a live table: facts, members or nodes, and the rows that are none."""

from dataclasses import dataclass

import polars as pl

from engine.catalogue import Catalogue, Dimension, Domain
from engine.exact import Exact
from engine.feeds import Binding, Filling
from engine.instance.build.feeds import MEMBER_COLUMNS, NODE_COLUMNS, attributes_of, texts_of
from engine.slices import DATE
from engine.store.writer import SCENARIO, Stage
from server.ingest.columns import amounts, because, days, mapped, text
from server.ingest.rejects import FILE, ROW, VALIDATE, LoadFailed, Rejects


@dataclass
class Shaping:
    """One extract on its way into a live table."""

    binding: Binding
    extract: pl.DataFrame
    rejects: Rejects

    def column(self, name: str, *, optional: bool = False) -> pl.Series | None:
        """Return what fills a column of the live table, None where nothing does and nothing must."""
        filling = self.binding.fillings.get(name)
        if filling is None and optional and name not in self.extract.columns:
            return None
        source = (filling.column if filling else None) or name
        if filling is not None and filling.constant is not None:
            return pl.Series(name, [filling.constant]).new_from_index(0, self.extract.height)
        if source not in self.extract.columns or source in (FILE, ROW):
            known = ", ".join(column for column in self.extract.columns if column not in (FILE, ROW))
            raise LoadFailed(VALIDATE, f"the extract of {self.binding.key} has no column '{source}'; it has {known}")
        return self.meant(name, self.extract[source], filling)

    def meant(self, name: str, column: pl.Series, filling: Filling | None) -> pl.Series:
        """Return a column with its values as the binding says they are meant."""
        if filling is None or filling.values is None:
            return column
        parsed = mapped(column, filling.values)
        self.rejects.where(parsed.reasons.is_not_null(), name, column, parsed.reasons)
        return parsed.values

    def ids(self, name: str, *, optional: bool = False) -> pl.Series:
        """Return a column of ids or names as text, null where nothing fills it."""
        column = self.column(name, optional=optional)
        if column is None:
            return pl.Series(name, [None], dtype=pl.String).new_from_index(0, self.extract.height)
        return text(column)

    def required(self, name: str) -> pl.Series:
        """Return a column of ids, rejecting rows that have none."""
        ids = self.ids(name)
        self.rejects.where(ids.is_null(), name, ids, "is missing")
        return ids

    def finish(self, columns: dict[str, pl.Series]) -> pl.DataFrame:
        """Return the rows that are kept; LoadFailed where more are rejected than the binding allows."""
        self.rejects.hold(self.binding.rejects_allowed)
        return self.rejects.kept(pl.DataFrame(columns))


def shape_facts(shaping: Shaping, domain: Domain, catalogue: Catalogue, stage: Stage) -> pl.DataFrame:
    """Return the facts of an extract as the store takes them."""
    rejects, binding = shaping.rejects, shaping.binding
    columns: dict[str, pl.Series] = {}
    if binding.scenario:
        columns[SCENARIO] = pl.Series(SCENARIO, [binding.scenario]).new_from_index(0, shaping.extract.height)
    else:
        columns[SCENARIO] = scenarios = shaping.required(domain.scenario_column)
        unknown = ~scenarios.is_in(list(catalogue.scenarios)) & scenarios.is_not_null()
        rejects.where(unknown, domain.scenario_column, scenarios, "is no scenario of scenarios.yaml")
    written = shaping.column(domain.time_column)
    if written is not None:
        filling = binding.fillings.get(domain.time_column)
        parsed = days(written, filling.format if filling else None, domain.grain, catalogue.calendar)
        missing_is_fine = domain.keeps_undated & text(written).is_null()
        rejects.where(parsed.reasons.is_not_null() & ~missing_is_fine, domain.time_column, written, parsed.reasons)
        columns[DATE] = parsed.values
    for key, column in domain.dimensions.items():
        columns[key] = shaping.ids(column)
        reject_unknown(shaping, catalogue.dimensions[key], column, columns[key], stage)
    for key, measure in domain.measures.items():
        amount = shaping.column(measure.column)
        if amount is not None:
            units = amounts(amount, measure.places)
            rejects.where(units.reasons.is_not_null(), measure.column, amount, units.reasons)
            columns[key] = units.values
    for column in texts_of(domain):
        columns[column] = shaping.ids(column)
    return shaping.finish(columns)


def reject_unknown(shaping: Shaping, dimension: Dimension, column: str, ids: pl.Series, stage: Stage) -> None:
    """Reject rows whose id is no member, unless the binding lets new ids extend the dimension."""
    if dimension.members is None or shaping.binding.extends_members:
        return
    members = stage.known(dimension.members, "id")
    if members is None:
        raise LoadFailed(VALIDATE, f"{dimension.members} is not loaded yet, and {dimension.key} names its members")
    unknown = ~ids.is_in(members.implode()) & ids.is_not_null()
    shaping.rejects.where(unknown, column, ids, f"is no member of {dimension.key}")


def shape_members(shaping: Shaping, dimension: Dimension, catalogue: Catalogue) -> pl.DataFrame:
    """Return the members of an extract: id, code, name and the attributes that derived dimensions read."""
    columns = {"id": shaping.required("id")}
    reject_twice(shaping, "id", columns["id"])
    for name in (*MEMBER_COLUMNS[1:], *attributes_of(dimension.key, catalogue.dimensions)):
        columns[name] = shaping.ids(name, optional=name in MEMBER_COLUMNS)
    return shaping.finish(columns)


def shape_nodes(shaping: Shaping, members: pl.Series | None) -> pl.DataFrame:
    """Return the nodes of an extract; what makes no tree is found when the tree is grown."""
    columns = {name: shaping.ids(name, optional=name != "node") for name in NODE_COLUMNS}
    rejects = shaping.rejects
    rejects.where(columns["node"].is_null(), "node", columns["node"], "is missing")
    reject_twice(shaping, "node", columns["node"] + pl.Series(["/"]) + columns["parent"].fill_null(""))
    for name in ("weight", "sort"):
        lost = pl.Series([value is not None and not is_decimal(value) for value in columns[name]], dtype=pl.Boolean)
        rejects.where(lost, name, columns[name], "is no number")
    if members is not None:
        strange = columns["leaf"].is_not_null() & ~columns["leaf"].is_in(members.implode())
        rejects.where(strange, "leaf", columns["leaf"], "is no member")
    return shaping.finish(columns)


def is_decimal(value: str) -> bool:
    """Tell whether a text is a decimal number."""
    try:
        Exact.of(value)
    except ValueError:
        return False
    return True


def reject_twice(shaping: Shaping, name: str, ids: pl.Series) -> None:
    """Reject every row after the first that says the same id."""
    rejected = ids.is_not_null() & ~ids.is_first_distinct()
    shaping.rejects.where(rejected, name, ids, because(rejected, "stands twice").fill_null("stands twice"))
