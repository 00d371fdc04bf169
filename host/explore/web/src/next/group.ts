// Enabled events by node, faults apart.

import type { Enabled } from "../api";

export interface Group {
  /** None: faults of all nodes. */
  node: number | null;
  enabled: Enabled[];
}

export function isFault({ kind }: Enabled): boolean {
  return kind === "fault" || kind === "lose";
}

export function groups(enabled: Enabled[]): Group[] {
  const all: Group[] = [];
  for (const event of enabled.filter((event) => !isFault(event))) {
    const group = all.find(({ node }) => node === event.node);
    if (group) group.enabled.push(event);
    else all.push({ node: event.node, enabled: [event] });
  }
  all.sort((one, other) => (one.node ?? 0) - (other.node ?? 0));
  const faults = enabled.filter(isFault);
  return faults.length > 0 ? [...all, { node: null, enabled: faults }] : all;
}
