// The grid under the keyboard and the pointer: which cell has the focus, and what a click or a key on it means.

import { pressed } from "../shared/keys";
import type { Keyed, Place } from "../shared/keys";

export interface Meaning {
  fold(line: number, isFolded: boolean): boolean;
  parentOf(line: number): number;
  enter(line: number, column: number): void;
  focused(line: number, column: number): void;
  sort(column: number): void;
}

const HEAD = -1;

export class Grid implements Keyed {
  private sorters: readonly HTMLButtonElement[] = [];
  private body: HTMLTableSectionElement | undefined;
  private before = 1; // cells of a row before its figures
  private held: HTMLElement | undefined; // the one that Tab comes to

  constructor(private readonly table: HTMLTableElement, private readonly meaning: Meaning) {
    table.addEventListener("keydown", (event) => {
      pressed(event, this, document.documentElement.dir === "rtl");
    });
    table.addEventListener("focusin", () => { this.took(); });
    table.addEventListener("click", (event) => { this.clicked(event); });
    table.addEventListener("dblclick", () => {
      const at = this.place();
      if (at && at.row !== HEAD && at.column > 0) this.enter(at);
    });
  }

  /** Takes over a head and a body that were drawn anew; `hasTrend` where a cell stands between labels and figures. */
  drawn(sorters: readonly HTMLButtonElement[], body: HTMLTableSectionElement, hasTrend: boolean): void {
    this.sorters = sorters;
    this.body = body;
    this.before = hasTrend ? 2 : 1;
    this.held = undefined;
  }

  /** After rows have come and gone: Tab comes to one that is seen. */
  arranged(): void {
    if (this.held?.closest("tr")?.hidden !== false) this.hold(this.element({ row: 0, column: 0 }));
  }

  private get seen(): readonly HTMLTableRowElement[] {
    return this.body ? [...this.body.rows].filter((row) => !row.hidden) : [];
  }

  get rows(): number {
    return this.seen.length;
  }

  get across(): number {
    return this.sorters.length;
  }

  place(): Place | undefined {
    const focus = document.activeElement;
    const sorter = this.sorters.findIndex((known) => known === focus);
    if (sorter >= 0) return { row: HEAD, column: sorter };
    const cell = focus?.closest<HTMLTableCellElement>("tbody th, tbody td");
    const row = this.seen.findIndex((known) => known === cell?.parentElement);
    if (!cell || row < 0) return undefined;
    return { row, column: Math.max(0, cell.cellIndex - this.before + 1) };
  }

  /** What gets the focus comes out from under the head and the labels, which stay in sight. */
  focus(place: Place): void {
    const [scroller, head] = [this.table.parentElement, this.table.tHead];
    const corner = head?.rows[0]?.cells[0];
    scroller?.style.setProperty("scroll-padding-block-start", `${head?.offsetHeight ?? 0}px`);
    scroller?.style.setProperty("scroll-padding-inline-start", `${corner?.offsetWidth ?? 0}px`);
    this.element(place)?.focus();
  }

  foldAt(row: number, isFolded: boolean): boolean {
    return row !== HEAD && this.meaning.fold(this.line(row), isFolded);
  }

  parentOf(row: number): number | undefined {
    if (row === HEAD) return undefined;
    const parent = this.meaning.parentOf(this.line(row));
    const found = this.seen.findIndex((known) => Number(known.dataset.at) === parent);
    return found < 0 ? undefined : found;
  }

  enter({ row, column }: Place): void {
    this.meaning.enter(this.line(row), column - 1);
  }

  private line(row: number): number {
    return Number(this.seen[row]?.dataset.at);
  }

  private element({ row, column }: Place): HTMLElement | undefined {
    if (row === HEAD) return this.sorters[column];
    return this.seen[row]?.cells[column === 0 ? 0 : column + this.before - 1];
  }

  private took(): void {
    const at = this.place();
    if (at === undefined) return;
    this.hold(this.element(at));
    if (at.row !== HEAD) this.meaning.focused(this.line(at.row), at.column - 1);
  }

  private hold(element: HTMLElement | undefined): void {
    if (this.held) this.held.tabIndex = -1;
    this.held = element;
    if (element) element.tabIndex = 0;
  }

  private clicked({ target }: MouseEvent): void {
    if (!(target instanceof Element)) return;
    const sorter = target.closest<HTMLElement>("[data-sort]");
    if (sorter) this.meaning.sort(Number(sorter.dataset.sort));
    const row = target.closest("tbody th")?.closest("tr");
    if (!row) return;
    const isFolded = row.ariaExpanded === "false";
    this.meaning.fold(Number(row.dataset.at), !isFolded);
    row.querySelector("th")?.focus();
  }
}
