// The form of one tool, made from the schema that the server lists it with.

import type { Books } from "./books";
import { newId } from "./dom";
import { chips, choice } from "./fields/choice";
import { code, json, oneOf, wholeNumber, words, yesOrNo, type Argument, type Field } from "./fields/field";
import { filters } from "./fields/filters";
import { isRecord, record, records } from "./fields/record";
import { scenarios } from "./fields/scenarios";
import { pretty } from "./json";
import { element } from "../shared/element";
import { fields, isFields, parsed, text, texts, type Fields } from "../shared/shape";
import { called } from "../shared/words";
import type { Tool } from "./server";

type Makes = (of: Argument, books: Books) => Field;

/** How an argument is filled in: by what it is called, else by its type. */
const BY_NAME: Readonly<Record<string, Makes>> = {
  scenarios: (_, books) => scenarios(books),
  filters: (_, books) => filters(books),
  transform_code: code,
};
const BY_TYPE: Readonly<Record<string, Makes>> = {
  array: (of, books) =>
    isRecord(of.schema.items) ? records(of.name, of.schema.items, books) : chips(of.id, "", () => books.choices(of.name)),
  boolean: yesOrNo,
  integer: wholeNumber,
  number: wholeNumber,
  object: (of, books) => (isRecord(of.schema) ? record(of.schema, books) : json(of)),
  string: words,
};

/** What a call is about comes first, whatever the order of the schema. */
const FIRST = ["statement", "metrics", "data_ref", "data_refs"];
/** Short ones stand two in a line. */
const SHORT = ["period_start", "period_end", "scale", "decimals"];

function fieldOf(of: Argument, books: Books): Field {
  const type = text(of.schema.type);
  if (Array.isArray(of.schema.enum)) return oneOf(of);
  if (type === "string" && books.lists(of.name)) return choice(of, () => books.choices(of.name));
  return (BY_NAME[of.name] ?? BY_TYPE[type] ?? json)(of, books);
}

export class Form {
  readonly element: HTMLElement;
  readonly isEmpty: boolean;
  private readonly fields = new Map<string, Field>();
  private readonly raw = element("textarea", { class: "code", rows: 10, spellcheck: "false", "aria-label": "Arguments as JSON" });
  private rest: Fields = {}; // arguments that the schema does not know, which the server is to judge

  constructor(tool: Tool, books: Books) {
    const required = texts(tool.schema.required);
    const properties = fields(tool.schema.properties);
    const inOrder = [...new Set([...FIRST.filter((name) => name in properties), ...Object.keys(properties)])];
    const labelled = inOrder.map((name) => {
      const schema = properties[name];
      const of = { id: newId(), name, schema: fields(schema), required: required.includes(name) };
      const field = fieldOf(of, books);
      this.fields.set(name, field);
      return around(of, field);
    });
    this.isEmpty = labelled.length === 0;
    this.raw.addEventListener("input", () => { this.readRaw(); });
    this.element = element("div", { class: "fields" }, ...(this.isEmpty ? [element("p", { class: "muted" }, "It takes nothing.")] : labelled));
    this.element.addEventListener("input", () => { this.showRaw(); });
    this.element.addEventListener("click", () => { this.showRaw(); });
    this.element.append(element("details", { class: "raw" }, element("summary", {}, "Arguments as JSON"), this.raw));
    this.set({});
  }

  value(): Fields {
    const filled = [...this.fields].map(([name, field]) => [name, field.value()] as const);
    return { ...Object.fromEntries(filled.filter(([, value]) => value !== undefined)), ...this.rest };
  }

  set(asked: Fields): void {
    this.fill(asked);
    this.raw.value = pretty(this.value());
  }

  private fill(asked: Fields): void {
    for (const [name, field] of this.fields) field.set(asked[name]);
    this.rest = Object.fromEntries(Object.entries(asked).filter(([name]) => !this.fields.has(name)));
  }

  private showRaw(): void {
    if (document.activeElement !== this.raw) this.raw.value = pretty(this.value());
  }

  private readRaw(): void {
    const read = parsed(this.raw.value);
    this.raw.setCustomValidity(isFields(read) ? "" : "This is no JSON object.");
    if (isFields(read)) this.fill(read);
  }
}

/** A field with its label, and with what the schema says of it for those who ask. */
function around({ id, name, schema, required }: Argument, field: Field): HTMLElement {
  const title = called(name);
  const words = [title, ...(required ? [element("span", { class: "required" }, " · required")] : [])];
  const about = element("details", { class: "about" }, element("summary", { "aria-label": `About ${title}` }, "?"), text(schema.description));
  const isOne = field.element.id === id || field.element.querySelector(`#${id}`);
  if (isOne) return element("div", { class: SHORT.includes(name) ? "short field" : "field" }, element("label", { for: id }, ...words), about, field.element);
  return element("div", { class: "field", role: "group", "aria-label": title }, element("span", { class: "label" }, ...words), about, field.element);
}
