// Rows of a state tree: which are shown, and the path of a field.

import type { Row } from "../api";

/** The changed rows, and those above them. */
export function changed(rows: Row[]): Row[] {
  const kept: Row[] = [];
  const above: Row[] = [];
  for (const row of rows) {
    above.length = Math.min(above.length, row.depth);
    if (row.mark === "same") {
      above[row.depth] = row;
      continue;
    }
    for (const parent of above) if (parent && !kept.includes(parent)) kept.push(parent);
    kept.push(row);
  }
  return kept;
}

/** The changes alone, each with its path as its name: what is around all of them says nothing. */
export function leaves(rows: Row[]): Row[] {
  const all: Row[] = [];
  rows.forEach((row, index) => {
    const isAround = (rows[index + 1]?.depth ?? 0) > row.depth && row.old === null && row.value === "";
    if (row.mark === "same" || isAround) return;
    all.push({ ...row, depth: 0, name: within(rows, path(rows, index)) });
  });
  return all;
}

/** A path without the name that is around the whole state, such as that of a variant. */
export function within(rows: Row[], path: string): string {
  const roots = rows.filter(({ depth, mark }) => depth === 0 && mark !== "gone");
  const root = roots.length === 1 && rows.length > 1 && roots[0]?.name ? `${roots[0].name}.` : "";
  return root !== "" && path.startsWith(root) ? path.slice(root.length) : path;
}

/** The names of a row and of those above it. */
export function path(rows: Row[], index: number): string {
  const names: string[] = [];
  let depth = Infinity;
  for (let at = index; at >= 0; at -= 1) {
    const row = rows[at];
    if (!row || row.depth >= depth) continue;
    depth = row.depth;
    if (row.name !== "") names.unshift(row.name);
  }
  return names.join(".");
}

export interface Shown {
  row: Row;
  index: number;
  /** Whether rows below it belong to it. */
  isParent: boolean;
}

/** The rows without those below closed ones. */
export function open(rows: Row[], closed: Set<string>): Shown[] {
  const shown: Shown[] = [];
  let hiddenBelow = Infinity;
  rows.forEach((row, index) => {
    if (row.depth > hiddenBelow) return;
    hiddenBelow = Infinity;
    const isParent = (rows[index + 1]?.depth ?? 0) > row.depth;
    shown.push({ row, index, isParent });
    if (isParent && closed.has(path(rows, index))) hiddenBelow = row.depth;
  });
  return shown;
}

/** A state without its changes: what is there, and nothing of what was. */
export function present(rows: Row[]): Row[] {
  return rows.filter(({ mark }) => mark !== "gone").map((row) => ({ ...row, mark: "same", old: null }));
}
