// Objects of a few known parts: a box for each part, and several objects one below the other.

import type { Books } from "../books";
import { newId } from "../dom";
import { element } from "../../shared/element";
import { fields, isFields, text, texts, type Fields } from "../../shared/shape";
import { called } from "../../shared/words";
import { choice } from "./choice";
import { listed, oneOf, wholeNumber, words, type Argument, type Field, type Row } from "./field";

const SIMPLE = ["string", "number", "integer"];
const DIMENSIONS = ["by"]; // parts that name a dimension

const partsOf = (schema: Fields): readonly (readonly [string, Fields])[] =>
  Object.entries(fields(schema.properties)).map(([name, part]) => [name, fields(part)]);

/** Whether a schema is one of parts that have a box each. */
export const isRecord = (schema: unknown): schema is Fields =>
  isFields(schema) && isFields(schema.properties) && partsOf(schema).every(([, part]) => SIMPLE.includes(text(part.type)));

export function record(schema: Fields, books: Books): Row {
  const parts = partsOf(schema).map(([name, part]) => {
    const of: Argument = { id: newId(), name, schema: part, required: texts(schema.required).includes(name) };
    return [name, of, boxOf({ ...of, required: false }, books)] as const;
  });
  const shown = parts.map(([name, { id, required }, field]) => {
    const told = required ? [element("span", { class: "required" }, " · required")] : [];
    return element("div", { title: text(fields(fields(schema.properties)[name]).description) }, element("label", { for: id }, called(name), ...told), field.element);
  });
  return {
    element: element("div", { class: "parts" }, ...shown),
    value: () => {
      const filled = parts.map(([name, , field]) => [name, field.value()] as const).filter(([, value]) => value !== undefined);
      return filled.length > 0 ? Object.fromEntries(filled) : undefined;
    },
    set: (value) => { for (const [name, , field] of parts) field.set(fields(value)[name]); },
    focus: () => { shown[0]?.querySelector<HTMLElement>("input, select")?.focus(); },
  };
}

export const records = (name: string, schema: Fields, books: Books): Field => listed(`Add to ${called(name)}`, () => record(schema, books));

function boxOf(of: Argument, books: Books): Field {
  if (Array.isArray(of.schema.enum)) return oneOf(of);
  if (DIMENSIONS.includes(of.name)) return choice(of, () => books.choices("dimension"));
  return text(of.schema.type) === "string" ? words(of) : wholeNumber(of);
}
