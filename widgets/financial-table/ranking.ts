// The ranking of members that are not all shown: the same call again through the host, ordered by the server.

import type { Host } from "../shared/host";
import { refusalOf, seenIn } from "../shared/result";
import type { Fields } from "../shared/shape";
import { readTable } from "./table";
import type { Table } from "./table";

const MOST = 200; // members that run_metric ranks

/** Whether there are members that the table does not show one by one. */
export const isCut = ({ leftOut, lines }: Table): boolean =>
  Object.keys(leftOut).length > 0 || lines.some(({ kind }) => kind === "others");

/** The table with as many members as before, the first or the last by a metric of a scenario. Throws what the server refuses. */
export async function ranked(host: Host, asked: Fields, { lines }: Table, order_by: string, asc: boolean): Promise<Table> {
  const top = asked.top ?? Math.min(MOST, lines.filter(({ kind }) => kind === "member").length);
  const result = await host.call("run_metric", { ...asked, order_by, asc, top });
  const table = seenIn(result, (copy) => readTable(copy, asked));
  if (!table) throw new Error(refusalOf(result)?.error);
  return table;
}
