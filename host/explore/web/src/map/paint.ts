// Paints the map on a canvas.

import type { StateMap } from "../api";
import { labels } from "./labels";
import type { Layered } from "./layered";

export interface Sight {
  scale: number;
  left: number;
  top: number;
}

export interface Looks {
  map: StateMap;
  layered: Layered;
  sight: Sight;
  width: number;
  height: number;
  /** The property whose violations are coloured; null: any. */
  property: number | null;
  /** The state that is pointed at. */
  chosen: number | null;
  here: Set<number>;
  /** What leads to each state. */
  words: string[];
  colours: Colours;
}

export interface Colours {
  paper: string;
  line: string;
  faint: string;
  ink: string;
  bad: string;
  link: string;
}

const MARGIN = 24;
const EDGES_MAX = 30_000;

export function position({ layered, sight, width, height }: Looks, state: number): [number, number] {
  const spot = layered.spots[state];
  if (!spot) return [0, 0];
  const rows = Math.max(layered.sizes.length - 1, 1);
  const x = MARGIN + spot.x * (width - 2 * MARGIN);
  const y = MARGIN + (spot.level / rows) * (height - 2 * MARGIN);
  return [(x - sight.left) * sight.scale, (y - sight.top) * sight.scale];
}

/** The size of the states of a level. */
export function radius({ layered, sight, width, height }: Looks, level: number): number {
  const room = Math.min((width - 2 * MARGIN) / (layered.sizes[level] ?? 1), (height - 2 * MARGIN) / Math.max(layered.sizes.length, 1));
  return Math.min(Math.max(room * sight.scale * 0.35, 1.5), 7);
}

export function isBad({ map, property }: Looks, state: number): boolean {
  const violated = map.states[state]?.violated ?? [];
  return property === null ? violated.length > 0 : violated.includes(property);
}

export function paint(context: CanvasRenderingContext2D, looks: Looks): void {
  const { map, layered, width, height, colours, chosen } = looks;
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, width, height);
  const spots = map.states.map((_, state) => position(looks, state));
  edges(context, looks, spots);
  const sizes = layered.sizes.map((_, level) => radius(looks, level));
  const sizeOf = (state: number) => sizes[map.states[state]?.level ?? 0] ?? 2;
  const dots = (isShown: (state: number) => boolean, colour: string, more: number) => {
    context.fillStyle = colour;
    context.beginPath();
    spots.forEach(([x, y], state) => {
      if (!isShown(state) || x < -9 || y < -9 || x > width + 9 || y > height + 9) return;
      const size = sizeOf(state) + more;
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 2 * Math.PI);
    });
    context.fill();
  };
  dots((state) => !isBad(looks, state), colours.faint, 0);
  dots((state) => isBad(looks, state), colours.bad, 1);
  write(context, looks);
  ring(context, looks.here, spots, colours.link, 7);
  if (chosen !== null) ring(context, new Set([chosen]), spots, colours.ink, 6);
}

/** Labels are a row below their states. */
const LABEL_PX = 17;

function write(context: CanvasRenderingContext2D, looks: Looks): void {
  context.font = "10px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  context.textAlign = "center";
  context.lineWidth = 3;
  context.strokeStyle = looks.colours.paper;
  context.fillStyle = looks.colours.ink;
  for (const { x, y, text } of labels(looks, looks.words)) {
    context.strokeText(text, x, y + LABEL_PX);
    context.fillText(text, x, y + LABEL_PX);
  }
}

function edges(context: CanvasRenderingContext2D, { map, width, height, colours, chosen }: Looks, spots: [number, number][]): void {
  const lines = (isShown: (from: number, to: number) => boolean, colour: string, width_px: number) => {
    context.strokeStyle = colour;
    context.lineWidth = width_px;
    context.beginPath();
    for (const { from, to } of map.edges.slice(0, EDGES_MAX)) {
      if (!isShown(from, to)) continue;
      const [[x1, y1], [x2, y2]] = [spots[from] ?? [0, 0], spots[to] ?? [0, 0]];
      if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) continue;
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
  };
  lines(() => true, colours.line, map.edges.length > 4000 ? 0.4 : map.edges.length > 300 ? 0.8 : 1.4);
  if (chosen !== null) lines((from, to) => from === chosen || to === chosen, colours.link, 1.6);
}

function ring(context: CanvasRenderingContext2D, states: Set<number>, spots: [number, number][], colour: string, size: number): void {
  context.strokeStyle = colour;
  context.lineWidth = 2.5;
  for (const state of states) {
    const [x, y] = spots[state] ?? [-100, -100];
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.stroke();
  }
}
