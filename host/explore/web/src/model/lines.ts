// Lines of places, compared.

import type { Place } from "../api";

/** The number of places with which both lines begin. */
export function sharedBy(one: Place[], other: Place[]): number {
  if (one === other) return one.length;
  let shared = 0;
  while (shared < one.length && shared < other.length && one[shared] === other[shared]) shared += 1;
  return shared;
}
