// The menu: tools by group, and the calls of this session, the latest first.

import { h } from "./dom";
import { msWords, tokensWords } from "./outcome";
import type { Call, Tool } from "./server";
import { groups } from "./tools";

const MOST_CALLS = 20;

export class Menu {
  readonly element = h("div", { class: "menu" });
  private readonly buttons = new Map<string, HTMLElement>();
  private readonly select = h("select", { "aria-label": "Tool" });
  private readonly calls = h("ol", { class: "calls" });

  constructor(tools: readonly Tool[], choose: (tool: Tool) => void, private readonly show: (call: Call) => void) {
    this.select.addEventListener("change", () => {
      const tool = tools.find(({ name }) => name === this.select.value);
      if (tool) choose(tool);
    });
    const lists = groups(tools).map((group) => {
      this.select.append(h("optgroup", { label: group.title }, ...group.tools.map(({ name }) => h("option", { value: name }, name))));
      return h("section", {}, h("h2", {}, group.title), h("ul", {}, ...group.tools.map((tool) => h("li", {}, this.button(tool, choose)))));
    });
    this.element.append(this.select, h("div", { class: "groups" }, ...lists, h("section", {}, h("h2", {}, "Calls"), this.calls)));
  }

  mark(tool: string): void {
    this.select.value = tool;
    for (const [name, button] of this.buttons) button.setAttribute("aria-current", String(name === tool));
  }

  add(call: Call): void {
    const words = call.isError ? "refused" : tokensWords(call);
    this.calls.prepend(
      h(
        "li",
        {},
        h("button", { type: "button", onclick: () => { this.show(call); } }, call.tool, h("small", {}, `${msWords(call)} · ${words}`)),
      ),
    );
    this.calls.children[MOST_CALLS]?.remove();
  }

  private button(tool: Tool, choose: (tool: Tool) => void): HTMLElement {
    const made = h("button", { type: "button", title: tool.title, onclick: () => { choose(tool); } }, tool.name);
    this.buttons.set(tool.name, made);
    return made;
  }
}
