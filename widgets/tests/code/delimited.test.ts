// Delimited text: a spreadsheet computes nothing of it, and negative figures stay figures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, tsv } from "../../shared/delimited";

const words = (text: string): { words: string } => ({ words: text });

test("words that a spreadsheet would compute are quoted, negative figures are not", () => {
  const hostile = ["=1+1", "+1", "-1", "@sum", "\tx"].map(words);
  assert.equal(csv([hostile]), "\uFEFF'=1+1,'+1,'-1,'@sum,'\tx\r\n");
  assert.equal(csv([[-385.1, "-90071992547409930.1", null, 0]]), "\uFEFF-385.1,-90071992547409930.1,,0\r\n");
});

test("separators inside words stay inside their field", () => {
  assert.equal(csv([[words('A, "B"\nC'), 1]]), '\uFEFF"A, ""B""\nC",1\r\n');
  assert.equal(tsv([[words("A\tB\nC"), 1]]), "A B C\t1");
});
