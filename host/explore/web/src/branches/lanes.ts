// The tree of places as lanes: each branch is a line, from where it parts to its end.

import type { Place, Step } from "../api";

export interface Lane {
  /** From top to bottom. */
  lane: number;
  /** The first place that only this branch has; its parent lies in the lane `from`. */
  places: Place[];
  from: number | null;
  depth: number;
}

/** Places that are followed, at most. */
const LANES_MAX = 300;

export function lanes(steps: Map<Place, Step>, childrenOf: (place: Place) => Place[], root: Place): { all: Lane[]; isCut: boolean } {
  const all: Lane[] = [];
  const open: { place: Place; from: number | null }[] = [{ place: root, from: null }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (all.length >= LANES_MAX) return { all, isCut: true };
    const lane: Lane = { lane: all.length, places: [], from: next.from, depth: steps.get(next.place)?.depth ?? 0 };
    all.push(lane);
    const forks: { place: Place; from: number }[] = [];
    for (let at: Place | undefined = next.place; at !== undefined; ) {
      lane.places.push(at);
      const [first, ...others]: Place[] = childrenOf(at);
      for (const place of others) forks.push({ place, from: lane.lane });
      at = first;
    }
    // The last fork is the nearest lane below.
    open.push(...forks);
  }
  return { all, isCut: false };
}
