// The toolbar of a table: finding, folding to a level, turning columns, trends, and what the host lets people take away.

import { button, element } from "../shared/element";
import { canExport } from "../shared/files";
import type { Host } from "../shared/host";
import type { Fields } from "../shared/shape";
import { enlarger, finder } from "../shared/toolbar";
import { canTurn } from "./arrangement";
import { compared } from "./bars";
import type { Table } from "./table";
import { periodsOf } from "./trend";

const MOST_BARS = 4; // columns with bars that leave a table in sight together

export interface Actions {
  find(words: string, isNext: boolean): void;
  foldTo(level: number): void;
  turn(): void;
  trend(): void;
  bars(): void;
  copy(): void;
  save(): void;
  workbook(): void;
  enlarge(asked: Promise<Fields>): void;
}

export function toolbarOf(table: Table, depth: number, host: Host, actions: Actions): HTMLElement {
  const bar = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Table" });
  bar.append(finder("Find a line", (words, isNext) => { actions.find(words, isNext); }));
  if (depth > 0) bar.append(levels(depth, actions));
  if (canTurn(table)) bar.append(toggle("Swap", "Group columns the other way", () => { actions.turn(); }));
  if (periodsOf(table).length > 0) bar.append(toggle("Trend", "Show each line's course over the periods", () => { actions.trend(); }));
  if (compared(table) > 0)
    bar.append(toggle("Bars", "Draw variances as bars", () => { actions.bars(); }, compared(table) <= MOST_BARS));
  bar.append(element("span", { class: "gap" }), button("Copy", "Copy what is shown, as exact figures", () => { actions.copy(); }));
  if (host.can("downloadFile")) bar.append(button("CSV", "Save every line as CSV", () => { actions.save(); }));
  if (canExport(host) && table.dataRef) bar.append(button("XLSX", "Open the whole report as a workbook", () => { actions.workbook(); }));
  bar.append(...enlarger(host, (asked) => { actions.enlarge(asked); }));
  return bar;
}

function levels(depth: number, actions: Actions): HTMLElement {
  const group = element("span", { class: "levels", role: "group", "aria-label": "Levels shown" });
  for (let level = 0; level <= depth; level++)
    group.append(button(String(level + 1), `Show ${level + 1 === 1 ? "one level" : `${level + 1} levels`}`, () => { actions.foldTo(level); }));
  return group;
}

function toggle(words: string, title: string, pressed: () => void, isOn = false): HTMLButtonElement {
  const made = button(words, title, () => {
    made.ariaPressed = String(made.ariaPressed !== "true");
    pressed();
  });
  made.ariaPressed = "false";
  if (isOn) made.click();
  return made;
}
