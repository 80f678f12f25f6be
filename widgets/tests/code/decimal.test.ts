// Decimals: rounded half away from zero and compared exactly, whatever their length.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, decimal, exactText, grouped, NONE, plus, rounded } from "../../shared/decimal";

const shown = (value: number | string, places: number): string => {
  const exact = decimal(value);
  assert.ok(exact);
  const figure = rounded(exact, places);
  return `${figure.units < 0n ? "-" : ""}${grouped(figure)}`;
};

test("a half is rounded away from zero", () => {
  assert.deepEqual([0.5, -0.5, 2.5, 1.005, -1.005, 0.4999999].map((value) => shown(value, 0)), ["1", "-1", "3", "1", "-1", "0"]);
  assert.equal(shown(1.005, 2), "1.01"); // which as a double is a little less
});

test("every digit of a figure longer than a double is kept", () => {
  assert.equal(shown("90071992547409930.1", 2), "90,071,992,547,409,930.10");
  assert.equal(shown(1e21, 0), "1,000,000,000,000,000,000,000");
  assert.equal(shown(1.5e-7, 8), "0.00000015");
});

test("figures compare exactly and what is none comes last", () => {
  assert.equal(compared("90071992547409930.1", "90071992547409930.2"), -1);
  assert.deepEqual(["10", null, 9.5, "-3", null].sort(compared), ["-3", 9.5, "10", null, null]);
});

test("figures are added and taken away to the last digit, whatever their places", () => {
  const [large, small] = [decimal("90071992547409930.1") ?? NONE, decimal("0.025") ?? NONE];
  assert.deepEqual(plus(large, small), decimal("90071992547409930.125"));
  assert.deepEqual(plus(small, large, -1), decimal("-90071992547409930.075"));
  assert.deepEqual(["-1234567.50", 0, null, "n/a"].map((value) => exactText(value)), ["\u22121,234,567.50", "0", "", ""]);
});
