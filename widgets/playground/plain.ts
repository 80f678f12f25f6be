// Plain data for people: lists of like things as tables, the rest as names and values.

import { objects } from "./json";
import { prose } from "./prose";
import { element } from "../shared/element";
import { isFields, list, text, type Fields } from "../shared/shape";
import { called } from "../shared/words";

const MOST_ROWS = 200;
const LONG = 30; // characters of a cell that may be broken into lines

export function plain(data: Fields): HTMLElement {
  return of({ ...data, ...(isList(data) && { rows: asRecords(data), columns: undefined }) });
}

/** Rows that are bare lists, with their columns apart, as inspect_rows has them. */
const isList = (data: Fields): boolean => list(data.rows).some(Array.isArray);

function asRecords(data: Fields): readonly Fields[] {
  const names = objects(data.columns).map((column) => text(column.name));
  return list(data.rows).map((row) => Object.fromEntries(list(row).map((value, at) => [names[at] ?? String(at), value])));
}

function of(data: Fields): HTMLElement {
  const parts = Object.entries(data).filter(([, value]) => value !== undefined && value !== null);
  const short = parts.filter(([, value]) => !isLong(value));
  const long = parts.filter(([, value]) => isLong(value));
  const list = element("dl", { class: "plain" });
  for (const [name, value] of short) list.append(element("dt", {}, called(name)), element("dd", {}, shortOf(value)));
  return element(
    "div",
    {},
    ...(short.length > 0 ? [list] : []),
    ...long.flatMap(([name, value]) => [element("h3", {}, called(name)), longOf(value)]),
  );
}

const isLong = (value: unknown): boolean =>
  isFields(value) || objects(value).length > 0 || (typeof value === "string" && value.includes("\n"));

function longOf(value: unknown): HTMLElement {
  if (isFields(value)) return plain(value);
  if (typeof value === "string") return prose(value);
  return table(objects(value));
}

function shortOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(shortOf).join(", ");
  if (isFields(value)) return Object.entries(value).map(([name, one]) => `${called(name)}: ${shortOf(one)}`).join("; ");
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** Like things, a row each; rows that hold lists of things come as tables of their own. */
function table(rows: readonly Fields[]): HTMLElement {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const inner = names.filter((name) => rows.some((row) => objects(row[name]).length > 0));
  if (inner.length > 0) return element("div", {}, ...rows.map((row) => plain(row)));
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, called(name))));
  const body = rows.slice(0, MOST_ROWS).map((row) => element("tr", {}, ...names.map((name) => cell(row[name]))));
  const left = rows.length - body.length;
  return element(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": "Table" },
    element("table", { class: "plain" }, element("thead", {}, head), element("tbody", {}, ...body)),
    ...(left > 0 ? [element("p", { class: "muted" }, `${left} more are in the JSON.`)] : []),
  );
}

function cell(value: unknown): HTMLElement {
  const words = value === undefined || value === null ? "" : shortOf(value);
  const sort = typeof value === "number" ? "number" : words.length > LONG ? "long" : undefined;
  return element("td", { class: sort }, words);
}
