// What a grid says of itself in words: how many rows there are, what is not shown to whom, and every note.

import { element } from "../shared/element";
import { isWhole, rowsWords } from "./foot";
import type { Inspection } from "./inspection";

export function titleOf(inspection: Inspection): HTMLElement {
  const { label, caption } = inspection;
  return element("header", {}, element("h1", {}, label), element("p", {}, [caption, countWords(inspection)].join(" · ")));
}

export function countWords({ rows, found, total, groups }: Inspection): string {
  const all = total === undefined ? "" : rowsWords(total);
  if (groups !== undefined) return `${rows.length < groups ? `${rows.length} of ` : ""}${groups.toLocaleString("en")} groups of ${all}`;
  if (rows.length < found) return `Preview ${rows.length} of ${found.toLocaleString("en")}`;
  return total !== undefined && total > found ? `${found.toLocaleString("en")} of ${all}` : rowsWords(found);
}

export function saidOf(inspection: Inspection): HTMLElement {
  const { notes, isTruncated, found, answered, contributed, groups } = inspection;
  const what = groups === undefined ? "rows" : "groups";
  const counted = contributed ? " The total counts them all." : "";
  const cautions = [
    isTruncated ? `More ${what} exist than the limit of ${found.toLocaleString("en")}.${counted} Narrow the filters to see the others.` : "",
    answered < found ? `The model was given the first ${answered.toLocaleString("en")} of these ${rowsWords(found)}.` : "",
    ...notes,
  ];
  const items = cautions.filter(Boolean).map((words) => element("li", { class: "caution" }, words));
  const foot = element("footer", {}, element("ul", {}, ...items));
  if (contributed && !isWhole(inspection)) foot.append(element("p", {}, "The whole result is in an export."));
  return foot;
}
