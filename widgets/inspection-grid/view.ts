// The view of inspected rows: title, toolbar, grid and foot put together, and what people do with them.

import { exactText } from "../shared/decimal";
import { tsv } from "../shared/delimited";
import { element } from "../shared/element";
import { copied, workbookOpened } from "../shared/files";
import type { Host } from "../shared/host";
import type { Place } from "../shared/keys";
import type { Fields } from "../shared/shape";
import { Told } from "../shared/told";
import { bodyRows, headRow } from "./body";
import type { Shown } from "./body";
import { footRows } from "./foot";
import { Grid } from "./grid";
import type { Inspection } from "./inspection";
import { holding, nextSort, ordered } from "./order";
import type { Sort } from "./order";
import { saidOf, titleOf } from "./said";
import { rowsOf } from "./taken";
import { toolbarOf } from "./toolbar";
import type { Actions } from "./toolbar";

const HINT = "Select a cell to see it in full.";

export class InspectionView implements Actions {
  readonly element = element("section", { class: "report inspection" });
  private readonly table: HTMLTableElement;
  private readonly grid: Grid;
  private readonly about = element("span", { class: "about" }, element("span", {}, HINT));
  private readonly told = new Told();
  private readonly hidden = new Set<number>();
  private sort: Sort | undefined;
  private found: readonly number[] = [];
  private hit = -1;

  constructor(private readonly inspection: Inspection, private readonly host: Host) {
    this.table = element("table", { role: "grid", "aria-label": `Rows of ${inspection.label}` });
    this.grid = new Grid(this.table, (cell) => { this.focused(cell); });
    this.table.addEventListener("click", (event) => { this.clicked(event); });
    const scroller = element("div", { class: "scroller" }, this.table);
    const strip = element("div", { class: "strip" }, this.about, this.told.element);
    this.element.append(titleOf(inspection), toolbarOf(inspection, host, this), scroller, strip, saidOf(inspection));
    this.draw(undefined);
  }

  find(words: string, isNext: boolean): void {
    const hits = (this.found = holding(this.inspection.rows, this.order, words));
    this.mark();
    this.hit = isNext ? (this.hit + 1) % Math.max(1, hits.length) : 0;
    if (hits.length === 0) this.told.tell(words.trim() ? "No row shown here holds that." : "");
    else this.told.tell(`${this.hit + 1} of ${hits.length}`);
    this.table.querySelector(`tr[data-at="${hits[this.hit] ?? ""}"]`)?.scrollIntoView({ block: "nearest" });
  }

  choose(column: number, isShown: boolean): void {
    if (isShown) this.hidden.delete(column);
    else this.hidden.add(column);
    this.draw(undefined);
  }

  copy(): void {
    const shown = this.shown.map(({ at }) => at);
    const done = copied(tsv(rowsOf(this.inspection, shown, this.order)));
    this.told.tell(done ? "Copied the rows shown, as exact figures." : "The host does not allow copying.");
  }

  workbook(): void {
    this.told.tell("Making the workbook…");
    this.told.attempt("The workbook is open.", workbookOpened(this.host, this.inspection.dataRef));
  }

  enlarge(asked: Promise<Fields>): void {
    this.told.attempt("", asked);
  }

  private get shown(): readonly Shown[] {
    const every = this.inspection.across.map((column, at) => ({ at, column }));
    return every.filter(({ at }) => !this.hidden.has(at));
  }

  private get order(): readonly number[] {
    return ordered(this.inspection.rows, this.inspection.across, this.sort);
  }

  private draw(focus: Place | undefined): void {
    const shown = this.shown;
    const contributes = shown.some(({ column }) => column.name === "contribution");
    const head = element("thead", { role: "rowgroup" }, headRow(shown, this.sort));
    const body = element("tbody", { role: "rowgroup" }, ...bodyRows(this.inspection, this.order, shown));
    const foot = element("tfoot", { role: "rowgroup" }, ...(contributes ? footRows(this.inspection, shown.length) : []));
    this.table.replaceChildren(head, body, foot);
    this.mark();
    this.grid.drawn(focus);
  }

  /** Marks what was looked for, on rows of any drawing. */
  private mark(): void {
    for (const row of this.table.tBodies[0]?.rows ?? []) row.classList.toggle("hit", this.found.includes(Number(row.dataset.at)));
  }

  private clicked({ target }: MouseEvent): void {
    if (!(target instanceof Element)) return;
    const sorter = target.closest<HTMLElement>("[data-sort]");
    const column = Number(sorter?.dataset.sort ?? NaN);
    const sorted = this.inspection.across[column];
    if (!sorted) return;
    this.sort = nextSort(this.sort, column, sorted);
    this.draw(this.grid.place());
    this.told.tell(this.sort ? `Sorted by ${sorted.label}, among the rows shown.` : "In the answer's order.");
  }

  /** A cell in full: its column, a member's label, every digit of an amount. */
  private focused(cell: HTMLTableCellElement | undefined): void {
    this.told.tell("");
    const at = Number(cell?.dataset.field ?? NaN);
    const found = this.inspection.rows[Number(cell?.closest("tr")?.dataset.at ?? NaN)]?.[at];
    const column = this.inspection.across[at];
    if (!found || !column) return;
    const exact = column.kind === "number" ? exactText(found.value) : [found.text, found.label].filter(Boolean).join(" ");
    this.about.replaceChildren(element("span", {}, column.label), element("b", {}, exact || "blank"));
  }
}
