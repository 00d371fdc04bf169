// States by level, in an order within each level that keeps edges short.

import type { StateMap } from "../api";

export interface Spot {
  /** From 0 to 1, within its level. */
  x: number;
  level: number;
}

export interface Layered {
  spots: Spot[];
  /** States of each level. */
  sizes: number[];
}

const SWEEPS = 4;

/** Barycentres: a state is put at the mean of its neighbours of the level above, then of that below, in turns. */
export function layered(map: StateMap): Layered {
  const levels: number[][] = [];
  map.states.forEach(({ level }, state) => (levels[level] ??= []).push(state));
  const above: number[][] = map.states.map(() => []);
  const below: number[][] = map.states.map(() => []);
  for (const { from, to } of map.edges) {
    const [one, other] = [map.states[from], map.states[to]];
    if (!one || !other || one.level === other.level) continue;
    const [upper, lower] = one.level < other.level ? [from, to] : [to, from];
    below[upper]?.push(lower);
    above[lower]?.push(upper);
  }
  const x = new Float64Array(map.states.length);
  const spread = (states: number[]) => states.forEach((state, index) => (x[state] = (index + 0.5) / states.length));
  levels.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const neighbours = isDown ? above : below;
    for (const states of isDown ? levels : [...levels].reverse()) {
      if (!states) continue;
      const wanted = new Map(states.map((state) => [state, mean(neighbours[state] ?? [], x, state)]));
      states.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0) || one - other);
      spread(states);
    }
  }
  const spots = map.states.map(({ level }, state) => ({ x: x[state] ?? 0, level }));
  return { spots, sizes: levels.map((states) => states?.length ?? 0) };
}

function mean(neighbours: number[], x: Float64Array, state: number): number {
  if (neighbours.length === 0) return x[state] ?? 0;
  return neighbours.reduce((sum, other) => sum + (x[other] ?? 0), 0) / neighbours.length;
}
