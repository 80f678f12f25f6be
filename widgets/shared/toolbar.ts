// What the toolbars of views have in common: a box to find by, and the whole screen where the host has it.

import { button, element } from "./element";
import type { Host } from "./host";
import { list, text, type Fields } from "./shape";

/** A box to find by: what is typed is found, Enter goes to the next. */
export function finder(words: string, find: (wanted: string, isNext: boolean) => void): HTMLElement {
  const input = element("input", { type: "search", placeholder: words, "aria-label": words, spellcheck: "false" });
  input.oninput = () => { find(input.value, false); };
  input.onkeydown = ({ key }) => {
    if (key === "Enter") find(input.value, true);
  };
  return input;
}

/** A button for the whole screen and back; nothing where the host has no such mode. */
export function enlarger(host: Host, enlarge: (asked: Promise<Fields>) => void): readonly HTMLElement[] {
  if (!list(host.context.availableDisplayModes).includes("fullscreen")) return [];
  const ask = (): void => {
    const mode = text(host.context.displayMode) === "fullscreen" ? "inline" : "fullscreen";
    enlarge(host.request("ui/request-display-mode", { mode }));
  };
  return [button("⤢", "Full screen", ask)];
}
