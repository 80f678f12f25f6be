// The short answer of a report, as it stands where a host leaves no rendered block: what it leaves out is filled in.
//
// What comes of it has the columns and rows of a block, with bare values for cells. The drill of an answer is one
// template for all its cells: columns take what it says of them and of every cell, rows what it says of rows.

import { joined } from "../shared/drill";
import { periodName } from "../shared/periods";
import { fields, list, text, texts } from "../shared/shape";
import type { Fields } from "../shared/shape";

const SCALES: Readonly<Record<string, string>> = { 3: " thousands", 6: " millions", 9: " billions" };
const FORMATS: Readonly<Record<string, string>> = { fraction: "percent", number: "number", ratio: "number" };

type Parts = ReadonlyMap<string, unknown>; // of a cell, as templates name them

/** The whole of a short answer to the call that was asked. */
export function filledIn(said: Fields, asked: Fields): Fields {
  const across = list(said.columns ?? said.scenarios).map(fields);
  const metrics = list(said.metrics).map(fields);
  const template = templateOf(fields(said.drill), fields(asked.filters));
  const measured = measuredIn(said);
  const columnOf = (part: Fields, metric?: Fields): Fields => {
    const of = new Map([["column", part], ["scenario", part], ["metric", metric]]);
    const drill = part.drill === null ? {} : joined(filled(template, of, true), fields(part.drill), own(metric ?? {}));
    const alias = part.alias ?? part.scenario;
    const heading = metric ? [labelOf(metric), alias] : [alias, placeWords(part, drill)];
    return { ...(metric && measured(metric)), ...part, alias, metric: metric?.key, drill, heading: heading.filter(Boolean) };
  };
  let before: unknown; // whether the line before is favourable up: so is one below another that does not say it
  const rowOf = (row: Fields): Fields => {
    before = row.favourable ?? (row.level ? before : "up");
    const isHeader = row.kind === "header";
    const drill = joined(filled(template, new Map([["row", row]])), own(isHeader ? { drill: null } : row));
    const [dimension] = texts(said.dimensions);
    const members = row.members ?? (dimension && "key" in row ? { [dimension]: row.key } : {});
    const kind = said.statement ? "node" : Object.keys(fields(members)).length > 0 ? "member" : "total";
    const label = placeWords({ ...row, members }, drill) || text(row.key) || "Total";
    return { kind, style: kind, label, ...(kind === "node" && !isHeader ? measured({ ...row, favourable: before }) : row), members, drill };
  };
  return {
    ...said,
    label: text(said.label) || metrics.map(labelOf).join(", "),
    columns: said.statement ? across.map((part) => columnOf(part)) : metrics.flatMap((metric) => across.map((part) => columnOf(part, metric))),
    rows: list(said.rows).map(fields).map(rowOf),
  };
}

/** What gives a line or a metric of an answer its unit and format. */
export const measuredIn = (said: Fields) => (part: Fields): Fields => {
  const unit = text(part.unit) || text(said.currency) + (SCALES[String(said.scale)] ?? "");
  return { favourable: "up", ...part, unit, format: FORMATS[unit] ?? "currency" };
};

export const labelOf = (part: Fields): string => text(part.label) || text(part.key);

/** The members of a place by their labels; periods that have none by their names. */
function placeWords(part: Fields, drill: Fields): string {
  const named = ([dimension, id]: readonly [string, unknown]): string =>
    text(fields(part.labels)[dimension]) || (id === drill.period_start ? periodName(text(id), true) : text(id));
  return Object.entries(fields(part.members)).map(named).join(" · ") || (part.is_total ? text(part.label) || "Total" : "");
}

/** The template with the filters of the call that it leaves to the caller; nothing where that call is not known. */
function templateOf(drill: Fields, asked: Fields): Fields {
  const added = texts(drill.add_filters_of_this_call).map((name) => [name, asked[name]] as const);
  return added.every(([, members]) => members) ? joined({ filters: Object.fromEntries(added) }, drill) : {};
}

/** What a template says of the parts that are known, such as `pnl.{row.key}`; of no part, only where that is asked for. */
export function filled(template: Fields, of: Parts, hasConstants = false): Fields {
  const found = Object.entries(template).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    if (name === "filters") return [[name, filled(fields(value), of, hasConstants)]];
    const [, before = "", part = "", path] = /^(.*)\{(\w+)\.(.+)\}$/.exec(text(value)) ?? [];
    if (!path) return hasConstants ? [[name, value]] : [];
    const known = path.split(".").reduce<unknown>((inside, step) => fields(inside)[step], of.get(part));
    return known === undefined ? [] : [[name, before + text(known)]];
  });
  return Object.fromEntries(found);
}

/** The own drill of a line, a member or a metric: it may have the rows of its operands, or none at all. */
export function own({ drill, operands }: Fields): Fields {
  const every = drill === null ? [] : operands;
  if (!Array.isArray(every)) return fields(drill);
  const each = every.map((operand: unknown) => (text(operand) ? { filters: { metric: operand } } : operand));
  return { ...fields(drill), operands: each };
}
