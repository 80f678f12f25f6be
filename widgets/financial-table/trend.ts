// The trend of a line: its figures over the periods across, as a small curve drawn to its own scale.

import type { Line, Table } from "./table";

const WIDTH = 72;
const HEIGHT = 16;
const MARGIN = 2;
const SVG = "http://www.w3.org/2000/svg";

/** The columns of the first scenario that has at least three periods across. */
export function periodsOf(table: Table): readonly number[] {
  const periods = [...table.across.entries()].filter(([, { isPeriod, isTotal, comparison }]) => isPeriod && !isTotal && comparison === "figure");
  const first = periods[0]?.[1].titles[0];
  const found = periods.filter(([, column]) => column.titles[0] === first).map(([at]) => at);
  return found.length >= 3 ? found : [];
}

export function trend(line: Line, periods: readonly number[]): SVGElement {
  const values = periods.map((at) => line.cells[at]?.value ?? null);
  const drawn = made("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "trend", "aria-hidden": "true" });
  const known = values.filter((value) => value !== null).map(Number);
  if (known.length > 1) drawn.append(...curve(values, Math.min(...known), Math.max(...known)));
  return drawn;
}

function curve(values: readonly (number | string | null)[], least: number, most: number): readonly SVGElement[] {
  const across = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1);
  const down = (value: number): number => MARGIN + (HEIGHT - 2 * MARGIN) * (most === least ? 0.5 : (most - value) / (most - least));
  const points = values.map((value, at) =>
    value === null ? undefined : ([MARGIN + at * across, down(Number(value))] as const),
  );
  let isDrawing = false; // a period without a figure is a gap
  const path = points.map((point) => {
    const step = point ? `${isDrawing ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "";
    isDrawing = point !== undefined;
    return step;
  });
  const last = points.findLast((point) => point !== undefined);
  const parts = [made("path", { d: path.join("") })];
  if (least < 0 && most > 0) parts.unshift(made("line", { x1: 0, x2: WIDTH, y1: down(0), y2: down(0) }));
  if (last) parts.push(made("circle", { cx: last[0], cy: last[1], r: 1.8 }));
  return parts;
}

function made(name: "svg" | "path" | "line" | "circle", attributes: Readonly<Record<string, string | number>>): SVGElement {
  const part = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
  return part;
}
