// The view of a table: head, body, toolbar and foot put together, and what people do with them.

import { csv, tsv } from "../shared/delimited";
import { element } from "../shared/element";
import { copied, downloaded, workbookOpened } from "../shared/files";
import type { Host } from "../shared/host";
import type { Fields } from "../shared/shape";
import { Told } from "../shared/told";
import { groups } from "./arrangement";
import type { Placed } from "./arrangement";
import { arrange, bodyRows } from "./body";
import { askForRows, callsBehind, wordsOf } from "./drilling";
import type { Subject } from "./drilling";
import { footerOf } from "./footer";
import { Grid } from "./grid";
import type { Meaning } from "./grid";
import { headOf, isGrouped, LABELS, sayOrder } from "./head";
import type { Head } from "./head";
import { found, Outline } from "./outline";
import type { Sort } from "./outline";
import { isCut, ranked } from "./ranking";
import { rowsBehind } from "./rows";
import { Strip } from "./strip";
import type { Table } from "./table";
import { rowsOf } from "./taken";
import { toolbarOf } from "./toolbar";
import type { Actions } from "./toolbar";
import { periodsOf } from "./trend";

const SORTED = "Sorted; lines stay under the line that they add up to.";
const RANKED = "Ranked among all by the server.";

export class TableView implements Actions, Meaning {
  readonly element = element("section", { class: "report" });
  private readonly told = new Told();
  private readonly first: Table;
  private outline: Outline;
  private readonly strip: Strip;
  private readonly grid: Grid;
  private readonly treegrid: HTMLTableElement;
  private across: readonly Placed[] = [];
  private rows: readonly HTMLTableRowElement[] = [];
  private head: Head = { rows: [], sorters: [] };
  private isTurned = false;
  private hasTrend = false;
  private hasBars = false;
  private found: readonly number[] = [];
  private hit = -1;
  private foot: HTMLElement;

  constructor(private table: Table, private readonly host: Host, private readonly asked: Fields | undefined) {
    this.first = table;
    this.outline = new Outline(table.lines);
    this.foot = footerOf(table);
    this.strip = new Strip(host, this.told, (subject) => { this.ask(subject); }, (subject) => { this.read(subject); });
    this.treegrid = element("table", { role: "treegrid", "aria-label": table.caption });
    this.grid = new Grid(this.treegrid, this);
    const scroller = element("div", { class: "scroller" }, this.treegrid);
    const toolbar = toolbarOf(table, this.outline.depth, host, this);
    this.element.append(titleOf(table), toolbar, scroller, this.strip.element, this.foot);
    this.draw();
  }

  find(words: string, isNext: boolean): void {
    this.found = found(this.table.lines, words);
    this.mark();
    const hits = this.outline.order.filter((at) => this.found.includes(at));
    if (hits.length === 0) {
      this.hit = -1;
      this.told.tell(words.trim() ? "No line of that name." : "");
      return;
    }
    this.hit = isNext ? (this.hit + 1) % hits.length : 0;
    const at = hits[this.hit] ?? 0;
    this.outline.reveal(at);
    this.arrange();
    this.rows[at]?.scrollIntoView({ block: "nearest" });
    this.told.tell(`${this.hit + 1} of ${hits.length}: ${this.table.lines[at]?.label ?? ""}`);
  }

  foldTo(level: number): void {
    this.outline.foldFrom(level);
    this.arrange();
  }

  turn(): void {
    this.isTurned = !this.isTurned;
    this.draw();
  }

  trend(): void {
    this.hasTrend = !this.hasTrend;
    this.draw();
  }

  bars(): void {
    this.hasBars = !this.hasBars;
    if (this.rows.length > 0) this.draw();
  }

  copy(): void {
    const done = copied(tsv(rowsOf(this.table, this.across, this.outline.seen)));
    this.told.tell(done ? "Copied what is shown, as exact figures." : "The host does not allow copying.");
  }

  save(): void {
    const words = csv(rowsOf(this.table, this.across, this.outline.order));
    this.told.attempt("Saved as CSV.", downloaded(this.host, `${this.table.label}.csv`, "text/csv", words));
  }

  workbook(): void {
    this.told.tell("Making the workbook…");
    this.told.attempt("The workbook is open.", workbookOpened(this.host, this.table.dataRef));
  }

  enlarge(asked: Promise<Fields>): void {
    this.told.attempt("", asked);
  }

  private draw(): void {
    const every = groups(this.table, this.isTurned);
    const periods = this.hasTrend ? periodsOf(this.table) : [];
    this.across = every.flatMap(({ across: columns }) => columns);
    this.head = headOf(every, this.table.rowsAre, periods.length > 0);
    this.rows = bodyRows(this.outline, this.across, periods, this.hasBars);
    this.mark();
    const body = element("tbody", { role: "rowgroup" });
    this.treegrid.classList.toggle("grouped", isGrouped(every));
    this.treegrid.classList.toggle("flat", this.outline.depth === 0);
    this.treegrid.replaceChildren(element("thead", { role: "rowgroup" }, ...this.head.rows), body);
    this.grid.drawn(this.head.sorters, body, periods.length > 0);
    this.arrange();
  }

  /** Marks what was looked for, on rows of any drawing. */
  private mark(): void {
    for (const [at, row] of this.rows.entries()) row.classList.toggle("hit", this.found.includes(at));
  }

  private arrange(): void {
    const [body] = this.treegrid.tBodies;
    if (body) arrange(body, this.rows, this.outline);
    sayOrder(this.head, this.outline.sorting);
    this.grid.arranged();
  }

  fold(at: number, isFolded: boolean): boolean {
    if (!this.outline.isParent(at) || this.outline.isFolded(at) === isFolded) return false;
    this.outline.fold(at, isFolded);
    this.arrange();
    return true;
  }

  /** Largest first, then smallest first, then as the report has them. */
  sort(column: number): void {
    const { sorting: sort } = this.outline;
    const isSame = sort !== undefined && (sort.column ?? LABELS) === column;
    const first = column !== LABELS;
    const isLast = isSame && sort.isDescending !== first;
    const next = { column: first ? column : undefined, isDescending: isSame ? !first : first };
    const by = this.first.across[column]?.rank;
    if (isLast) {
      this.put(this.first, undefined);
      return;
    }
    this.put(this.table, next);
    if (!by || !isCut(this.first) || !this.asked || !this.host.can("serverTools")) return;
    ranked(this.host, this.asked, this.first, by, !next.isDescending).then(
      (table) => {
        if (this.outline.sorting === next) this.put(table, { ...next, isRanked: true }); // else another order was asked for since
      },
      (fault: unknown) => { this.told.tell((fault as Error).message); },
    );
  }

  /** Puts lines in an order, which the server may have found for other lines than those before. */
  private put(table: Table, sort: Sort | undefined): void {
    if (table !== this.table) {
      const at = this.grid.place();
      this.table = table;
      this.outline = new Outline(table.lines);
      this.found = [];
      this.foot.replaceWith((this.foot = footerOf(table)));
      this.draw();
      if (at) this.grid.focus(at);
    }
    this.outline.sorting = sort;
    this.arrange();
    this.told.tell(sort ? (sort.isRanked ? RANKED : SORTED) : "In the report's order.");
  }

  private subject(at: number, column: number): Subject | undefined {
    const [line, placed] = [this.table.lines[at], this.across[column]];
    const cell = placed && line?.cells[placed.at];
    return line && placed && cell && line.kind !== "header" ? { line, column: placed.column, cell } : undefined;
  }

  parentOf(at: number): number {
    return this.outline.parentOf(at);
  }

  focused(at: number, column: number): void {
    this.strip.show(this.subject(at, column));
  }

  enter(at: number, column: number): void {
    const subject = this.subject(at, column);
    if (subject) this.drill(subject);
    else this.fold(at, !this.outline.isFolded(at));
  }

  private drill(subject: Subject): void {
    if (callsBehind(subject).length === 0) this.told.tell("There are no rows to show behind this cell.");
    else if (this.host.can("message")) this.ask(subject);
    else if (this.host.can("serverTools")) this.read(subject);
  }

  private ask(subject: Subject): void {
    this.told.attempt("Asked for the rows behind this figure.", askForRows(this.host, subject));
  }

  private read(subject: Subject): void {
    this.told.tell("Reading the rows…");
    const show = (panel: HTMLElement): void => {
      this.element.querySelector(".behind")?.remove();
      this.strip.element.after(panel);
      panel.focus({ preventScroll: true });
      panel.scrollIntoView({ block: "nearest" });
    };
    this.told.attempt("", rowsBehind(this.host, wordsOf(subject), callsBehind(subject)).then(show));
  }
}

function titleOf({ label, caption }: Table): HTMLElement {
  const rest = caption.startsWith(`${label}, `) ? caption.slice(label.length + 2) : caption;
  return element("header", {}, element("h1", {}, label), element("p", {}, rest));
}
