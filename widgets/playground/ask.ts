// One tool to ask: what it answers, its form, and the button that calls it.

import type { Books } from "./books";
import { Form } from "./form";
import { element } from "../shared/element";
import { isFields, parsed, type Fields } from "../shared/shape";
import type { Tool } from "./server";

const NARROW = "(max-width: 60rem)";
const EXAMPLE = " Example: ";

export class Ask {
  readonly element: HTMLElement;
  readonly form: Form;
  private readonly run = element("button", { type: "submit", class: "run" }, "Run");
  private readonly stop = element("button", { type: "button", class: "quiet", hidden: true }, "Stop");

  constructor(readonly tool: Tool, books: Books, ask: (asked: Fields) => void, before: readonly Node[] = []) {
    this.form = new Form(tool, books);
    const [words = "", example = ""] = tool.description.split(EXAMPLE);
    const [first = "", ...more] = words.split(/(?<=[.]) /);
    const form = element(
      "form",
      { onsubmit: (event) => { event.preventDefault(); ask(this.form.value()); } },
      element("p", { class: "words" }, first),
      ...(more.length > 0 ? [element("details", { class: "more" }, element("summary", {}, "What a model is told"), element("p", {}, more.join(" ")))] : []),
      ...before,
      this.form.element,
      element("p", { class: "actions" }, this.run, this.stop, ...exampleOf(example, (asked) => { this.form.set(asked); ask(asked); })),
    );
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    this.element = element("details", { class: "ask", open: !matchMedia(NARROW).matches }, element("summary", {}, element("h2", {}, tool.title)), form);
  }

  /** Show that a call is under way, which `stop` ends; without it, that none is. */
  busy(stop?: () => void): void {
    this.run.disabled = stop !== undefined;
    this.stop.hidden = stop === undefined;
    this.stop.onclick = stop ?? null;
  }
}

function exampleOf(written: string, ask: (asked: Fields) => void): readonly HTMLElement[] {
  const asked = parsed(written);
  if (!isFields(asked)) return [];
  return [element("button", { type: "button", class: "quiet", onclick: () => { ask(asked); } }, "Run the example")];
}
