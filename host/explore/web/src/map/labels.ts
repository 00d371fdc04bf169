// Words below the states of a map, where there is room: the event that leads to each from the level above.

import type { StateMap } from "../api";
import { clipped } from "../plain";
import { position, type Looks } from "./paint";

/** Words with fewer letters say little. */
const LETTERS_MIN = 9;
const LETTER_PX = 6;
const LABELS_MAX = 150;

export interface Label {
  state: number;
  x: number;
  y: number;
  text: string;
}

/** The words of each state: without its node where all are of the same. */
export function words(map: StateMap, names: string[], isOfNode: boolean): string[] {
  const all: string[] = map.states.map(({ level }, state) => (state === 0 && level === 0 ? "start" : ""));
  for (const { from, to, node, text } of map.edges) {
    if (all[to] !== "" || (map.states[from]?.level ?? 0) >= (map.states[to]?.level ?? 0)) continue;
    all[to] = isOfNode ? without(text, names[node] ?? "") : text;
  }
  return all;
}

/** An event without the name of its node. */
function without(text: string, name: string): string {
  return text.startsWith(name) ? text.slice(name.length).replace(/^: /, "").replace(/^ <- /, "from ") : text;
}

/** The labels in sight; none of a level without room for them. */
export function labels(looks: Looks, words: string[]): Label[] {
  const { layered, map, sight, width, height } = looks;
  const all: Label[] = [];
  for (let state = 0; state < map.states.length && all.length < LABELS_MAX; state += 1) {
    const level = layered.spots[state]?.level ?? 0;
    const letters = Math.floor(((width / (layered.sizes[level] ?? 1)) * sight.scale) / LETTER_PX) - 3;
    const text = words[state] ?? "";
    const [x, y] = position(looks, state);
    if (letters < LETTERS_MIN || text === "" || x < 0 || y < 0 || x > width || y > height) continue;
    all.push({ state, x, y, text: clipped(text, Math.min(letters, 60)) });
  }
  return all;
}
