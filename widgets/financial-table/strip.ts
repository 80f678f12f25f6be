// The strip under a table: the cell in focus with its exact figure, what can be done with it, and what just happened.

import { exactText } from "../shared/decimal";
import { button, element } from "../shared/element";
import type { Host } from "../shared/host";
import type { Told } from "../shared/told";
import { callsBehind } from "./drilling";
import type { Subject } from "./drilling";

const HINT = "Select a figure to see it exactly.";

export class Strip {
  readonly element = element("div", { class: "strip" });
  private readonly about = element("span", { class: "about" });
  private readonly drills = element("span", { class: "drills" });
  private subject: Subject | undefined;

  constructor(host: Host, private readonly told: Told, ask: (subject: Subject) => void, read: (subject: Subject) => void) {
    if (host.can("message")) this.add("Ask for rows", "Ask the model for the rows behind this figure", ask);
    if (host.can("serverTools")) this.add("Show rows", "Show the rows behind this figure here", read);
    this.show(undefined);
    this.element.append(this.about, this.told.element, this.drills);
  }

  private add(words: string, title: string, drill: (subject: Subject) => void): void {
    const pressed = (): void => {
      if (this.subject) drill(this.subject);
    };
    this.drills.append(button(words, title, pressed));
  }

  show(subject: Subject | undefined): void {
    this.subject = subject;
    this.told.tell("");
    this.about.replaceChildren(...(subject ? aboutCell(subject) : [element("span", {}, HINT)]));
    this.drills.hidden = subject === undefined || callsBehind(subject).length === 0;
  }
}

function aboutCell({ line, column, cell }: Subject): readonly Node[] {
  const figure = exactText(cell.value) || cell.text || "no figure";
  return [element("span", {}, [line.label, ...column.titles].join(" · ")), element("b", {}, figure)];
}
