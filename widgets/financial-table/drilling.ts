// Drilling: from a cell to the rows behind it, by way of the model, which calls inspect_rows with what it is handed.

import { calls } from "../shared/drill";
import type { Call } from "../shared/drill";
import type { Host } from "../shared/host";
import type { Fields } from "../shared/shape";
import type { Cell, Column, Line } from "./table";

export interface Subject {
  readonly line: Line;
  readonly column: Column;
  readonly cell: Cell;
}

export const callsBehind = ({ line, column }: Subject): readonly Call[] => calls(line.drill, column.drill);

export const wordsOf = ({ line, column, cell }: Subject): string =>
  `${[line.label, ...column.titles].join(", ")} (${cell.text || "blank"})`;

/** Hands the model the calls and asks it to make them; without a way to hand them over they stand in the message. */
export async function askForRows(host: Host, subject: Subject): Promise<void> {
  const behind = callsBehind(subject);
  const instructions = `inspect_rows, once for each of ${JSON.stringify(behind.map(described))}`;
  const message = `Show the rows behind ${wordsOf(subject)}.`;
  if (host.can("updateModelContext")) {
    const content = [{ type: "text", text: `The user looks at ${wordsOf(subject)}. The rows behind it: ${instructions}` }];
    const structuredContent = { words: wordsOf(subject), value: subject.cell.value, inspect_rows: behind.map(described) };
    await host.request("ui/update-model-context", { content, structuredContent });
    await say(host, message);
  } else await say(host, `${message} Call ${instructions}`);
}

const described = ({ sign, args }: Call): Fields => ({ counts_as: sign, arguments: args });

async function say(host: Host, text: string): Promise<void> {
  const answer = await host.request("ui/message", { role: "user", content: [{ type: "text", text }] });
  if (answer.isError === true) throw new Error("The host did not take the message.");
}
