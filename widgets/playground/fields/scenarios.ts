// The columns of a report: a scenario each, and the heading it gets.

import type { Books, Choice } from "../books";
import { newId } from "../dom";
import { element } from "../../shared/element";
import { isFields, text } from "../../shared/shape";
import { offering } from "./choice";
import { listed, type Field } from "./field";

export function scenarios(books: Books): Field {
  return listed("Add a column", () => {
    const alias = element("input", { "aria-label": "Heading", placeholder: "Heading", autocomplete: "off" });
    const offers = (): Promise<readonly Choice[]> => books.choices("scenario");
    const { element: offered, box: scenario } = offering(newId(), "Scenario", offers, ({ label }) => (alias.value ||= label));
    scenario.placeholder = "Scenario";
    return {
      element: element("div", { class: "pair" }, offered, alias),
      value: () =>
        scenario.value.trim()
          ? { scenario: scenario.value.trim(), ...(alias.value.trim() && { alias: alias.value.trim() }) }
          : undefined,
      set: (value) => {
        scenario.value = isFields(value) ? text(value.scenario) : "";
        alias.value = isFields(value) ? text(value.alias) : "";
      },
      focus: () => { scenario.focus(); },
    };
  });
}
