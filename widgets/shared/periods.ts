// Periods in words, where the server's own did not come along: months and days by name, other codes as they are.

import { fields, text } from "./shape";

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** "2026-09" is Sep 2026, "2026-09-03" is 3 Sep 2026, "2026-Q3" is 2026 Q3. */
export function periodName(code: string): string {
  const [, year = "", month = 0, day = 0] = /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(code) ?? [];
  if (!month) return code.replace("-Q", " Q");
  return `${Number(day) || ""} ${MONTHS.slice(3 * Number(month) - 3, 3 * Number(month))} ${year}`.trim();
}

/** A range as its label has it, else from its first to its last period; where it says its days, these codes are not names. */
export function rangeWords(found: unknown): string {
  const period = fields(found);
  const [first, last] = [period.start, period.end].map((code) => ("first_day" in period ? text(code) : periodName(text(code))));
  return text(period.label) || [first, ...(first === last ? [] : [last])].join(" – ");
}
