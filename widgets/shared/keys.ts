// The keyboard of a grid: one cell holds the focus, and keys move it, fold lines and open what stands behind.

export interface Place {
  readonly row: number; // among those seen; -1 is the head
  readonly column: number; // 0 is the label
}

export interface Keyed {
  readonly rows: number;
  readonly across: number;
  place(): Place | undefined;
  focus(place: Place): void;
  foldAt(row: number, isFolded: boolean): boolean; // whether that changed anything
  parentOf(row: number): number | undefined;
  enter(place: Place): void;
}

const HEAD = -1;
const PAGE = 15;

type Move = (at: Place, grid: Keyed) => Place;

const MOVES: Readonly<Record<string, Move>> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  PageUp: ({ row, column }) => ({ row: Math.max(0, row - PAGE), column }),
  PageDown: ({ row, column }) => ({ row: row + PAGE, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }, { across: columns }) => ({ row, column: columns - 1 }),
  "Ctrl+Home": ({ column }) => ({ row: 0, column }),
  "Ctrl+End": ({ column }, { rows }) => ({ row: rows - 1, column }),
  Forward: forward,
  Back: back,
};

/** On a label that is folded, forward unfolds it before it moves on. */
function forward(at: Place, grid: Keyed): Place {
  if (at.column === 0 && grid.foldAt(at.row, false)) return at;
  return { ...at, column: at.column + 1 };
}

/** On a label, back folds it, and goes to the line above it where it is folded or has none under it. */
function back(at: Place, grid: Keyed): Place {
  if (at.column > 0) return { ...at, column: at.column - 1 };
  if (grid.foldAt(at.row, true)) return at;
  return { row: grid.parentOf(at.row) ?? at.row, column: 0 };
}

const SIDEWAYS: Readonly<Record<string, readonly [string, string]>> = {
  ArrowRight: ["Forward", "Back"],
  ArrowLeft: ["Back", "Forward"],
};

function nameOf(event: KeyboardEvent, isRightToLeft: boolean): string {
  const sideways = SIDEWAYS[event.key];
  if (sideways) return sideways[isRightToLeft ? 1 : 0];
  return event.ctrlKey || event.metaKey ? `Ctrl+${event.key}` : event.key;
}

export function pressed(event: KeyboardEvent, grid: Keyed, isRightToLeft: boolean): void {
  const at = grid.place();
  if (at === undefined || event.altKey) return;
  if (event.key === "Enter" && at.row !== HEAD) {
    event.preventDefault();
    grid.enter(at);
    return;
  }
  const move = MOVES[nameOf(event, isRightToLeft)];
  if (move === undefined) return;
  event.preventDefault();
  const to = move(at, grid);
  const row = Math.min(Math.max(to.row, HEAD), grid.rows - 1);
  grid.focus({ row, column: Math.min(Math.max(to.column, 0), grid.across - 1) });
}
