// The menu: tools by group, and the calls of this session, the latest first.

import { msWords, tokensWords } from "./outcome";
import type { Call, Tool } from "./server";
import { groups } from "./tools";
import { element } from "../shared/element";

const MOST_CALLS = 20;

export class Menu {
  readonly element = element("div", { class: "menu" });
  private readonly buttons = new Map<string, HTMLElement>();
  private readonly select = element("select", { "aria-label": "Tool" });
  private readonly calls = element("ol", { class: "calls" });

  constructor(tools: readonly Tool[], choose: (tool: Tool) => void, private readonly show: (call: Call) => void) {
    this.select.addEventListener("change", () => {
      const tool = tools.find(({ name }) => name === this.select.value);
      if (tool) choose(tool);
    });
    const lists = groups(tools).map((group) => {
      this.select.append(element("optgroup", { label: group.title }, ...group.tools.map(({ name }) => element("option", { value: name }, name))));
      return element("section", {}, element("h2", {}, group.title), element("ul", {}, ...group.tools.map((tool) => element("li", {}, this.button(tool, choose)))));
    });
    this.element.append(this.select, element("div", { class: "groups" }, ...lists, element("section", {}, element("h2", {}, "Calls"), this.calls)));
  }

  mark(tool: string): void {
    this.select.value = tool;
    for (const [name, button] of this.buttons) button.setAttribute("aria-current", String(name === tool));
  }

  add(call: Call): void {
    const words = call.isError ? "refused" : tokensWords(call);
    this.calls.prepend(
      element(
        "li",
        {},
        element("button", { type: "button", onclick: () => { this.show(call); } }, call.tool, element("small", {}, `${msWords(call)} · ${words}`)),
      ),
    );
    this.calls.children[MOST_CALLS]?.remove();
  }

  private button(tool: Tool, choose: (tool: Tool) => void): HTMLElement {
    const made = element("button", { type: "button", title: tool.title, onclick: () => { choose(tool); } }, tool.name);
    this.buttons.set(tool.name, made);
    return made;
  }
}
