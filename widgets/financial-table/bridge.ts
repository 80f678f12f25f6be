// An explained variance as a table: for each list its rows, with bars of what they contribute, and their total.
//
// What comes of it has the columns and rows of a block, with bare values for cells. A call behind a cell is joined of
// three parts: the answer's, the list's and the row's. The first stands in the columns, the others in the rows.

import { joined } from "../shared/drill";
import { fields, list, text } from "../shared/shape";
import type { Fields } from "../shared/shape";
import { inWords } from "../shared/words";
import { filled, labelOf, measuredIn, own } from "./short";

/** The whole of an explained variance. */
export function bridgeOf(said: Fields): Fields {
  const drill = fields(said.drill);
  const measured = measuredIn(said);
  const whole = measured({ ...said, heading: ["Contribution"], period: 0, scenario: "var(" });
  const columns = list(said.scenarios).map((side, at) => {
    const { alias, scenario } = fields(side);
    return { ...fields(side), heading: [alias ?? scenario], drill: { ...joined(drill, fields(list(drill.sides)[at])), sides: 0, sign: 0 } };
  });
  const rowOf = (template: Fields, row: Fields): Fields => {
    const call = joined(filled(template, new Map([["row", row]]), true), fields(row.drill));
    return {
      ...measured({ kind: "node", level: 1, unit: said.unit, ...row }),
      label: labelOf(row),
      of: whole.unit,
      drill: own(row.drill === null ? row : { drill: call, operands: call.operands }),
      values: [row.a, row.b, row.contribution],
    };
  };
  const rows = list(said.lists).map(fields).flatMap((one) => [
    { kind: "header", label: inWords(text(one.by)) },
    ...list(one.rows).map((row) => rowOf(fields(one.drill), fields(row))),
    rowOf({}, { ...said, ...one, contribution: one.variance ?? said.variance, kind: "total", style: "total", label: "Variance", drill: null }),
  ]);
  return { ...said, label: said.label ?? said.metric, columns: [...columns, whole], rows };
}
