// The toolbar of a grid: finding, the columns shown, and what the host lets people take away.

import { button, element } from "../shared/element";
import { canExport } from "../shared/files";
import type { Host } from "../shared/host";
import type { Fields } from "../shared/shape";
import { enlarger, finder } from "../shared/toolbar";
import { rowsWords } from "./foot";
import type { Inspection } from "./inspection";

export interface Actions {
  find(words: string, isNext: boolean): void;
  choose(column: number, isShown: boolean): void;
  copy(): void;
  workbook(): void;
  enlarge(asked: Promise<Fields>): void;
}

export function toolbarOf(inspection: Inspection, host: Host, actions: Actions): HTMLElement {
  const bar = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Grid" });
  const picker = pickerOf(inspection, actions);
  bar.append(finder("Find in rows", (words, isNext) => { actions.find(words, isNext); }), opener(picker), element("span", { class: "gap" }));
  bar.append(button("Copy", "Copy the rows shown, as exact figures", () => { actions.copy(); }));
  if (canExport(host) && inspection.dataRef)
    bar.append(button("XLSX", `Open ${rowsWords(inspection.found)} as a workbook`, () => { actions.workbook(); }));
  bar.append(...enlarger(host, (asked) => { actions.enlarge(asked); }), picker);
  return bar;
}

function opener(picker: HTMLElement): HTMLButtonElement {
  const made = button("Columns", "Choose the columns shown", () => {
    picker.hidden = !picker.hidden;
    made.setAttribute("aria-expanded", String(!picker.hidden));
  });
  made.setAttribute("aria-expanded", "false");
  made.setAttribute("aria-controls", picker.id);
  return made;
}

/** One column at least stays. */
function pickerOf({ across: columns }: Inspection, actions: Actions): HTMLElement {
  const picker = element("fieldset", { id: "columns", class: "picker", hidden: "" }, element("legend", {}, "Columns shown"));
  const boxes = columns.map(({ label }, at) => {
    const box = element("input", { type: "checkbox", checked: "" });
    box.addEventListener("change", () => {
      actions.choose(at, box.checked);
      const checked = boxes.filter((one) => one.checked);
      for (const one of boxes) one.disabled = checked.length === 1 && one.checked;
    });
    picker.append(element("label", {}, box, ` ${label}`));
    return box;
  });
  return picker;
}
