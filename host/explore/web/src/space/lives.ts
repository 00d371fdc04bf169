// The lifelines of the nodes: where one begins again, and where it ends.

import type { Place, Step } from "../api";

export interface Life {
  /** Rows in which the node begins again. */
  gaps: number[];
  /** The row after which it does nothing any more. */
  end: number | null;
}

export function lives(nodes: number, line: Place[], steps: Map<Place, Step>): Life[] {
  const all = Array.from({ length: nodes }, (): Life => ({ gaps: [], end: null }));
  line.forEach((place, row) => {
    const event = steps.get(place)?.event;
    const life = all[event?.node ?? -1];
    if (!life || !event?.fault) return;
    if (event.fault === "crash") life.end = row;
    else if (event.fault.startsWith("reset") || event.fault === "restart") life.gaps.push(row);
  });
  return all;
}
