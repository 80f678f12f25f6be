// Calls of large reports, for tests of what is there and for benches of how fast it is.

import type { Shown } from "./harness";

interface Large {
  readonly call: Shown;
  readonly least: number; // cells
}

const BETWEEN = [
  { scenario: "actual", alias: "Actuals" },
  { scenario: "budget", alias: "Budget" },
  { scenario: "var(actual,budget)", alias: "Variance" },
];
const BACK = Array.from({ length: 50 }, (_, back) => ({ scenario: `actual@pp${back + 1}`, alias: `${back + 1} back` }));

export const LARGE: Readonly<Record<string, Large>> = {
  "60 lines by 39 columns": {
    call: {
      tool: "run_statement",
      given: { statement: "full_pnl", scenarios: BETWEEN, dimensions: ["period"], period_start: "2025-01", period_end: "2025-12" },
    },
    least: 2000,
  },
  "10,000 cells": {
    call: {
      tool: "run_metric",
      given: { metrics: ["opex"], scenarios: BACK, dimensions: ["cost_centre"], period_start: "2026-09" },
    },
    least: 9000,
  },
};
