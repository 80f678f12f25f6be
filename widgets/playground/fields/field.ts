// Fields of a form: each holds one argument of a call, or leaves it out.

import { pretty } from "../json";
import { element } from "../../shared/element";
import { parsed, text, type Fields } from "../../shared/shape";

export interface Field {
  readonly element: HTMLElement;
  /** The argument; undefined leaves it out. */
  value(): unknown;
  set(value: unknown): void;
}

/** What a field is made for. */
export interface Argument {
  readonly id: string;
  readonly name: string;
  readonly schema: Fields;
  readonly required: boolean;
}

/** A box that text is typed into; what it stands for is told by `reads`. */
function typed(box: HTMLInputElement | HTMLTextAreaElement, reads: (typed: string) => unknown): Field {
  return {
    element: box,
    value: () => (box.value.trim() === "" ? undefined : reads(box.value)),
    set: (value) => {
      box.value = value === undefined || value === null ? "" : typeof value === "string" ? value : pretty(value);
    },
  };
}

const same = (text: string): string => text;

/** What was typed as JSON, else as the text it is: the server says what is wrong with it. */
function asJson(typed: string): unknown {
  const read = parsed(typed);
  return read === undefined ? typed : read;
}

const line = ({ id, required }: Argument, has: Record<string, string> = {}): HTMLInputElement =>
  element("input", { id, required, autocomplete: "off", spellcheck: "false", ...has });

export const words = (of: Argument): Field => typed(line(of, hint(of)), (typed) => typed.trim());

export const wholeNumber = (of: Argument): Field => typed(line(of, { inputmode: "numeric" }), asJson);

export const code = ({ id }: Argument): Field =>
  typed(element("textarea", { id, class: "code", rows: 14, spellcheck: "false" }), same);

export const json = ({ id }: Argument): Field =>
  typed(element("textarea", { id, class: "code", rows: 8, spellcheck: "false", placeholder: "{ }" }), asJson);

export function yesOrNo({ id }: Argument): Field {
  const box = element("input", { id, type: "checkbox" });
  return { element: box, value: () => box.checked || undefined, set: (value) => (box.checked = value === true) };
}

export function oneOf({ id, schema, required }: Argument): Field {
  const values = Array.isArray(schema.enum) ? schema.enum.map(text) : [];
  const box = element("select", { id }, ...(required ? [] : [element("option", { value: "" }, "–")]));
  box.append(...values.map((value) => element("option", { value }, value)));
  return { element: box, value: () => box.value || undefined, set: (value) => (box.value = text(value)) };
}

/** The first example of a description, as a hint of its shape. */
function hint({ name, schema }: Argument): Record<string, string> {
  const example = /such as "?([\w@:./-]+)/.exec(text(schema.description))?.[1];
  const shape = name.startsWith("period") ? "2026-Q1" : example;
  return shape === undefined ? {} : { placeholder: shape };
}

/** A field that can be gone to. */
export interface Row extends Field {
  focus(): void;
}

/** Several fields as one, one below the other: those that are left out do not count. */
export function listed(add: string, one: () => Row): Field {
  let rows: Row[] = [];
  const list = element("div", { class: "rows" });
  const begin = (value?: unknown): Row => {
    const field = one();
    const row = element("div", { class: "row" }, field.element);
    const remove = (): void => {
      rows = rows.filter((known) => known !== field);
      row.remove();
      more.focus();
    };
    row.append(element("button", { type: "button", class: "quiet", "aria-label": "Remove", title: "Remove", onclick: remove }, "×"));
    if (value !== undefined) field.set(value);
    rows.push(field);
    list.append(row);
    return field;
  };
  const more = element("button", { type: "button", class: "quiet add", onclick: () => { begin().focus(); } }, add);
  return {
    element: element("div", {}, list, more),
    value: () => {
      const values = rows.map((field) => field.value()).filter((value) => value !== undefined);
      return values.length > 0 ? values : undefined;
    },
    set: (value) => {
      rows = [];
      list.replaceChildren();
      if (Array.isArray(value)) value.forEach((one: unknown) => begin(one));
    },
  };
}
