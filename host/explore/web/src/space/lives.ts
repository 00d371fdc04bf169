// The lifelines of the nodes: where one begins again, and where it ends.

import type { Place, Step } from "../api";

export interface Life {
  /** Rows in which the node begins again. */
  gaps: number[];
  /** The row after which it does nothing any more. */
  end: number | null;
}

/** `crashed`: nodes that do nothing after their last step. */
export function lives(nodes: number, line: Place[], steps: Map<Place, Step>, crashed: number[]): Life[] {
  const all = Array.from({ length: nodes }, (_, node): Life => ({ gaps: [], end: crashed.includes(node) ? 0 : null }));
  line.forEach((place, row) => {
    const event = steps.get(place)?.event;
    const life = all[event?.node ?? -1];
    if (!life || !event) return;
    if (crashed.includes(event.node)) life.end = row;
    if (!event.fault) return;
    if (event.fault === "crash") life.end = row;
    else if (event.fault.startsWith("reset") || event.fault === "restart") life.gaps.push(row);
  });
  return all;
}
