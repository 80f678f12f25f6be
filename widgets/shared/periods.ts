// Periods in words, where the server's own did not come along: months and days by name, other codes as they are.

import { fields, text } from "./shape";

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

const monthName = (month: number): string => MONTHS.slice(3 * month - 3, 3 * month);

/** "2026-09" is Sep 2026, "2026-09-03" is 3 Sep 2026; a quarter is called by its code, whose months may stand beside it. */
export function periodName(code: string, hasMonths = false): string {
  const [, year = "", quarter = 0, month = 0, day = 0] = /^(\d{4})-(?:Q(\d)|(\d\d)(?:-(\d\d))?)$/.exec(code) ?? [];
  if (quarter && hasMonths) return `${year} Q${quarter} (${monthName(3 * Number(quarter) - 2)}–${monthName(3 * Number(quarter))} ${year})`;
  return month ? `${Number(day) || ""} ${monthName(Number(month))} ${year}`.trim() : code.replace("-Q", " Q");
}

/** A range as its label has it, else from its first to its last period; where it says its days, these codes are not names. */
export function rangeWords(found: unknown): string {
  const period = fields(found);
  const [first, last] = [period.start, period.end].map((code) => ("first_day" in period ? text(code) : periodName(text(code))));
  return text(period.label) || [first, ...(first === last ? [] : [last])].join(" – ");
}
