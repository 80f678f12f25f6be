// The foot of a table: what was left out, what the signs mean, how fresh the figures are, and every note.

import { element } from "../shared/element";
import { groupedBy } from "../shared/grouped";
import type { Freshness, Line, Note, Table } from "./table";

export function footerOf(table: Table): HTMLElement {
  const said = [leftOut(table), table.immaterial, legend(table.lines), ...freshnessWords(table.freshness)].filter(Boolean);
  const [cautions, others] = [table.notes.filter(isCaution), table.notes.filter((note) => !isCaution(note))];
  const foot = element("footer", {}, ...said.map((words) => element("p", {}, words)));
  if (cautions.length > 0) foot.append(list(cautions, "caution"));
  if (others.length > 0) foot.append(folded(others));
  return foot;
}

const isCaution = (note: Note): boolean => note.isCaution;

const list = (notes: readonly Note[], kind: string): HTMLElement =>
  element("ul", {}, ...notes.map(({ message }) => element("li", { class: kind }, message)));

const folded = (notes: readonly Note[]): HTMLElement =>
  element("details", {}, element("summary", {}, notes.length === 1 ? "1 note" : `${notes.length} notes`), list(notes, "info"));

function leftOut({ leftOut: counted, dataRef }: Table): string {
  const parts = Object.entries(counted).map(([axis, count]) => `${count.toLocaleString("en")} ${axis}`);
  if (parts.length === 0) return "";
  return `${parts.join(" and ")} not shown here; totals count them all.${dataRef ? " An export holds them." : ""}`;
}

const SIGNS = [
  ["\u2013", "\u2013 zero"],
  ["", "blank: no figure"],
  ["n/a", "n/a: cannot be computed here"],
] as const;

function legend(lines: readonly Line[]): string {
  const shown = new Set(lines.flatMap(({ kind, cells }) => (kind === "header" ? [] : cells.map(({ text }) => text))));
  return SIGNS.filter(([text]) => shown.has(text)).map(([, words]) => words).join(" · ");
}

/** A sentence for each domain; when it was loaded stands once where that is the same for all its scenarios. */
function freshnessWords(known: readonly Freshness[]): readonly string[] {
  return [...groupedBy(known, ({ domain }) => domain)].map(([domain, scenarios]) => {
    const loaded = new Set(scenarios.map(loadedWords));
    const each = scenarios.map((scenario) => throughWords(scenario) + (loaded.size > 1 ? loadedWords(scenario) : ""));
    return `${domain}: ${each.join(" · ")}${loaded.size === 1 ? [...loaded].join("") : ""}`;
  });
}

const throughWords = ({ scenario, through, open }: Freshness): string =>
  `${scenario} ${through ? `through ${through}` : "holds no rows"}${open ? ` (open: ${open.replace("..", "\u2013")})` : ""}`;

const loadedWords = ({ loadedAt }: Freshness): string =>
  loadedAt ? `, loaded ${loadedAt.slice(0, 16).replace("T", " ")}` : "";
