// Filters: a dimension each, and those of its members that count, found by searching.

import type { Books, Choice } from "../books";
import { newId } from "../dom";
import { element } from "../../shared/element";
import { isFields, text, texts } from "../../shared/shape";
import { chips, offering } from "./choice";
import { listed, type Field } from "./field";

export function filters(books: Books): Field {
  const rows = listed("Add a filter", () => {
    const offers = (): Promise<readonly Choice[]> => books.choices("dimension");
    const { element: offered, box: dimension } = offering(newId(), "Dimension", offers, () => { members.focus(); });
    dimension.placeholder = "Dimension";
    const members = chips(newId(), "Members", (typed) => books.members(dimension.value.trim(), typed));
    return {
      element: element("div", { class: "pair" }, offered, members.element),
      value: () => {
        const ids = texts(members.value());
        return dimension.value.trim() && ids.length > 0 ? [dimension.value.trim(), ...ids] : undefined;
      },
      set: (value) => {
        const [key, ...ids] = texts(value);
        dimension.value = text(key);
        members.set(ids);
      },
      focus: () => { dimension.focus(); },
    };
  });
  return {
    element: rows.element,
    value: () => asFilters(rows.value()),
    set: (value) => { rows.set(isFields(value) ? Object.entries(value).map(([key, ids]) => [key, ...idsOf(ids)]) : []); },
  };
}

const idsOf = (ids: unknown): readonly string[] => (typeof ids === "string" ? [ids] : texts(ids));

/** One id stands alone, several in a list. */
function asFilters(rows: unknown): unknown {
  if (!Array.isArray(rows)) return undefined;
  return Object.fromEntries(rows.map((row: unknown) => {
    const [key, ...ids] = texts(row);
    return [text(key), ids.length === 1 ? text(ids[0]) : ids];
  }));
}
