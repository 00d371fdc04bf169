// Moments that a person may want again: those with a name, and the ends of branches.

import type { Place } from "../api";
import type { Explorer } from "../model/explorer";
import { clipped } from "../plain";

const ENDS_MAX = 200;
const LETTERS_MAX = 60;

export interface End {
  place: Place;
  text: string;
  name: string | null;
  depth: number;
  isEnd: boolean;
}

export function ends({ places }: Explorer): End[] {
  const all: End[] = [];
  for (const { place, depth, event, name } of places.steps.values()) {
    const isEnd = places.childrenOf(place).length === 0;
    if (!isEnd && name === null) continue;
    const words = name ?? event?.text ?? "start";
    all.push({ place, depth, name, isEnd, text: clipped(`step ${depth}: ${words}`, LETTERS_MAX) });
    if (all.length >= ENDS_MAX) break;
  }
  return all;
}
