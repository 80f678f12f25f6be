// The grid under the keyboard: which cell has the focus, in the head, the rows or the sums under them.

import { pressed } from "../shared/keys";
import type { Keyed, Place } from "../shared/keys";

const HEAD = -1;

export class Grid implements Keyed {
  private held: HTMLElement | undefined; // the one that Tab comes to

  constructor(
    private readonly table: HTMLTableElement,
    private readonly focused: (cell: HTMLTableCellElement | undefined) => void,
  ) {
    table.addEventListener("keydown", (event) => {
      pressed(event, this, document.documentElement.dir === "rtl");
    });
    table.addEventListener("focusin", () => { this.took(); });
  }

  /** Takes over rows that were drawn anew, with the focus where it was. */
  drawn(at: Place | undefined): void {
    const place = at ?? { row: this.rows > 0 ? 0 : HEAD, column: 0 };
    this.hold(this.element(place));
    if (at) this.focus(at);
  }

  private get lines(): readonly HTMLTableRowElement[] {
    return [...this.table.rows].slice(1);
  }

  get rows(): number {
    return this.lines.length;
  }

  get across(): number {
    return this.table.tHead?.rows[0]?.cells.length ?? 0;
  }

  place(): Place | undefined {
    const cell = document.activeElement?.closest<HTMLTableCellElement>("th, td");
    const row = cell?.parentElement;
    if (!cell || !(row instanceof HTMLTableRowElement) || !this.table.contains(row)) return undefined;
    const before = [...row.cells].slice(0, cell.cellIndex);
    return { row: row.rowIndex - 1, column: before.reduce((width, { colSpan }) => width + colSpan, 0) };
  }

  focus(place: Place): void {
    this.element(place)?.focus();
  }

  foldAt(): boolean {
    return false;
  }

  parentOf(): undefined {
    return undefined;
  }

  enter(): void {
    this.took();
  }

  /** A cell that spans columns is that of each of them. */
  private element({ row, column }: Place): HTMLElement | undefined {
    const line = row === HEAD ? this.table.tHead?.rows[0] : this.lines[row];
    let width = 0;
    const cell = [...(line?.cells ?? [])].find(({ colSpan }) => (width += colSpan) > column);
    return row === HEAD ? (cell?.querySelector("button") ?? undefined) : cell;
  }

  private took(): void {
    const at = this.place();
    if (at === undefined) return;
    this.hold(this.element(at));
    const cell = at.row === HEAD ? undefined : document.activeElement?.closest("td");
    this.focused(cell ?? undefined);
  }

  private hold(element: HTMLElement | undefined): void {
    if (this.held) this.held.tabIndex = -1;
    this.held = element;
    if (element) element.tabIndex = 0;
  }
}
