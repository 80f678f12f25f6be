// Calls of large reports, for tests of what is there and for benches of how fast it is.

import type { Shown } from "./harness";

interface Large {
  readonly call: Shown;
  readonly lines: number; // at least
  readonly columns: number;
}

const BETWEEN = [
  { scenario: "actual", alias: "Actuals" },
  { scenario: "budget", alias: "Budget" },
  { scenario: "var(actual,budget)", alias: "Variance" },
  { scenario: "actual@py", alias: "Prior year" },
];
const BACK = Array.from({ length: 50 }, (_, back) => ({ scenario: `actual@pp${back + 1}`, alias: `${back + 1} back` }));

export const LARGE: Readonly<Record<string, Large>> = {
  "60 lines by 40 columns": {
    call: {
      tool: "run_statement",
      given: { statement: "full_pnl", scenarios: BETWEEN, dimensions: ["period"], period_start: "2025-01", period_end: "2025-09" },
    },
    lines: 60,
    columns: 40, // nine months and their total
  },
  "10,000 cells": {
    call: {
      tool: "run_metric",
      given: { metrics: ["opex"], scenarios: BACK, dimensions: ["cost_centre"], period_start: "2026-09" },
    },
    lines: 200,
    columns: 50,
  },
};
