// Where nodes, steps and probes are in the drawing.

export const ROW = 46;
export const HEAD = 30;
export const LEFT = 58;
export const LETTER = 6.65;
const COLUMN_MIN = 90;
const PROBE = 150;
/** Columns of many nodes are narrow, and have shapes only. */
const DENSE_MIN = 44;
const DENSE_NODES = 10;

export interface Layout {
  width: number;
  column: number;
  nodes: number;
  probes: number;
  isDense: boolean;
}

export function layout(room: number, nodes: number, probes: number): Layout {
  const isDense = nodes > DENSE_NODES;
  const free = room - LEFT - probes * PROBE;
  const column = Math.max(free / Math.max(nodes, 1), isDense ? DENSE_MIN : COLUMN_MIN);
  return { width: LEFT + column * nodes + probes * PROBE, column, nodes, probes, isDense };
}

export function nodeX({ column }: Layout, node: number): number {
  return LEFT + 22 + column * node;
}

export function probeX({ column, nodes }: Layout, probe: number): number {
  return LEFT + column * nodes + PROBE * probe + 8;
}

export const PROBE_LETTERS = Math.floor((PROBE - 16) / LETTER);

export function rowY(row: number): number {
  return row * ROW + 15;
}

/** The first and the last row to be drawn. */
export function visible(top: number, height: number, rows: number): [number, number] {
  const margin = 4;
  const first = Math.max(Math.floor(top / ROW) - margin, 0);
  const last = Math.min(Math.ceil((top + height) / ROW) + margin, rows - 1);
  return [Math.min(first, last), last];
}

/** Where a text stands next to a lifeline: to its right if it fits there, or if there is more room than to its left. */
export interface Beside {
  x: number;
  letters: number;
  isLeft: boolean;
}

export function beside(layout: Layout, node: number, gap: number, text: string): Beside {
  const x = nodeX(layout, node);
  const right = Math.floor((LEFT + layout.column * layout.nodes - x - gap) / LETTER);
  const left = Math.floor((x - LEFT - gap) / LETTER);
  const isLeft = text.length > right && left > right;
  return isLeft ? { x: x - gap, letters: left, isLeft } : { x: x + gap, letters: right, isLeft };
}
