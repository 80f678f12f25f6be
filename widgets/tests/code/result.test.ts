// The reading of a result: every place where hosts leave it, and hosts that leave nothing asked once and no more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Reading } from "../../shared/result";
import type { Shown } from "../../shared/result";
import { fields, text } from "../../shared/shape";
import type { Fields } from "../../shared/shape";

const seenOf = (copy: unknown): string | undefined => text(fields(copy).label) || undefined;

/** A reading whose host answers calls as told; returns what the view was told to show, and the calls it made. */
function reading(answer: (args: Fields) => Fields, able = true): { made: Reading<string>; said: string[]; calls: Fields[] } {
  const said: string[] = [];
  const calls: Fields[] = [];
  const shown: Shown<string> = {
    table: (seen) => said.push(`table ${seen}`),
    refusal: ({ error }) => said.push(`refused ${error}`),
    waiting: () => said.push("waiting"),
  };
  const call = (tool: string, args: Fields): Promise<Fields> => {
    calls.push({ tool, args });
    return Promise.resolve(answer(args));
  };
  return { made: new Reading({ tool: "run_statement", can: () => able, call }, seenOf, shown), said, calls };
}

const content = (said: unknown): Fields => ({ content: [{ type: "text", text: JSON.stringify(said) }] });

test("a result is read wherever it stands, what was rendered first", async () => {
  const places = [
    { _meta: { "tieout/table": { label: "A" } }, structuredContent: { label: "B" } },
    { _meta: {}, structuredContent: { label: "A" }, ...content({ label: "B" }) },
    content({ label: "A" }),
  ];
  for (const place of places) {
    const { made, said, calls } = reading(() => ({}));
    made.asked("run_statement", {});
    await made.answered(place);
    assert.deepEqual([said.at(-1), calls], ["table A", []]);
  }
});

test("a result that was withheld is read by the same call again", async () => {
  const { made, said, calls } = reading(() => content({ label: "A" }));
  made.asked("run_metric", { metrics: ["revenue"] });
  await made.answered({ content: [] });
  assert.deepEqual(calls, [{ tool: "run_metric", args: { metrics: ["revenue"] } }]);
  assert.equal(said.at(-1), "table A");
});

test("a host that strips everything and tells of each call is asked once", async () => {
  const { made, calls } = reading(() => ({ content: [] }));
  made.asked("run_statement", {});
  await made.answered({ content: [] });
  await made.answered({ content: [] });
  await made.answered({ content: [] });
  assert.equal(calls.length, 1);
  made.asked("run_statement", { statement: "pnl" }); // another call may be read again
  await made.answered({ content: [] });
  assert.equal(calls.length, 2);
});

test("what a host says of the view's own calls does not take the table's place", async () => {
  const { made, said } = reading(() => ({}));
  made.asked("run_statement", {});
  await made.answered(content({ label: "A" }));
  await made.answered(content({ error: "no rows" }));
  await made.answered({});
  assert.equal(said.at(-1), "table A");
});

test("a refusal is said in its own words, also where only a flag is left of it", async () => {
  const { made, said } = reading(() => ({}));
  await made.answered({ isError: true, ...content({ error: "There is no statement 'x'.", did_you_mean: ["pnl"] }) });
  await made.answered({ isError: true, content: [{ type: "text", text: "Busy." }] });
  await made.answered({ isError: true });
  assert.deepEqual(said, ["refused There is no statement 'x'.", "refused Busy.", "refused The call failed."]);
});

test("without a way to call nothing is called", async () => {
  const { made, said, calls } = reading(() => ({}), false);
  made.asked("run_statement", {});
  await made.answered({});
  assert.deepEqual([said.at(-1), calls], ["waiting", []]);
});
