// The strip under a table: the cell in focus with its exact figure, what can be done with it, and what just happened.

import { decimal, grouped } from "../shared/decimal";
import { button, element } from "../shared/element";
import type { Host } from "../shared/host";
import { callsBehind } from "./drilling";
import type { Subject } from "./drilling";

const HINT = "Select a figure to see it exactly.";

export class Strip {
  readonly element = element("div", { class: "strip" });
  readonly #about = element("span", { class: "about" });
  readonly #told = element("span", { class: "told", role: "status", "aria-live": "polite" });
  readonly #rows: HTMLButtonElement;
  #subject: Subject | undefined;

  constructor(host: Host, drill: (subject: Subject) => void) {
    this.#rows = button("Show rows", "Show the rows behind this figure (Enter)", () => {
      if (this.#subject) drill(this.#subject);
    });
    this.show(undefined);
    this.element.append(this.#about, this.#told);
    if (host.can("message")) this.element.append(this.#rows);
  }

  show(subject: Subject | undefined): void {
    this.#subject = subject;
    this.#told.textContent = "";
    this.#about.replaceChildren(...(subject ? aboutCell(subject) : [element("span", {}, HINT)]));
    this.#rows.hidden = subject === undefined || callsBehind(subject).length === 0;
  }

  tell(words: string): void {
    this.#told.textContent = words;
  }
}

function aboutCell({ line, column, cell }: Subject): readonly Node[] {
  const exact = decimal(cell.value);
  const sign = exact && exact.units < 0n ? "\u2212" : "";
  const figure = exact ? `${sign}${grouped(exact)}` : cell.text || "no figure";
  return [element("span", {}, [line.label, ...column.heading].join(" · ")), element("b", {}, figure)];
}
