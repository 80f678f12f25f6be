// Tabs: one panel at a time, each made when it is first looked at.

import { newId } from "./dom";
import { element } from "../shared/element";

export interface Tab {
  readonly title: string;
  panel(): HTMLElement;
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };

export function tabs(label: string, all: readonly Tab[], first: string): HTMLElement {
  const shown = element("div", { role: "tabpanel", id: newId(), tabindex: "0" });
  const made = new Map<string, HTMLElement>();
  const buttons = all.map(({ title }) =>
    element("button", { type: "button", role: "tab", id: newId(), "aria-controls": shown.id, onclick: () => { open(title); } }, title),
  );
  const open = (title: string): void => {
    const at = all.findIndex((tab) => tab.title === title);
    const tab = all[at];
    if (!tab) return;
    for (const [index, button] of buttons.entries()) {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    }
    shown.setAttribute("aria-labelledby", buttons[at]?.id ?? "");
    const panel = made.get(title) ?? tab.panel();
    made.set(title, panel);
    for (const other of made.values()) other.hidden = other !== panel; // a frame that leaves the page begins anew
    if (panel.parentElement !== shown) shown.append(panel);
  };
  const bar = element("div", { role: "tablist", "aria-label": label }, ...buttons);
  bar.addEventListener("keydown", ({ key }) => {
    const next = all[(all.findIndex((_, at) => buttons[at] === document.activeElement) + (STEPS[key] ?? 0) + all.length) % all.length];
    if (!(key in STEPS) || !next) return;
    open(next.title);
    buttons[all.indexOf(next)]?.focus();
  });
  open(first);
  return element("div", { class: "tabs" }, bar, shown);
}
