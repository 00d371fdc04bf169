// What the state trees are compared with.

import type { Place, Row } from "../api";
import type { Explorer } from "../model/explorer";
import { present } from "./rows";

/** The last step; the last event of each node; another place. */
export type Against = "step" | "event" | Place;

export interface Tree {
  node: number;
  rows: Row[];
  stuck: string | null;
  /** With what it is compared. */
  since: string;
}

/** The trees of all nodes; null for what is not here yet. */
export function trees(explorer: Explorer, against: Against): (Tree | null)[] {
  const state = explorer.places.shown;
  if (!state) return [];
  return state.nodes.map(({ rows, stuck }, node) => {
    if (against === "step") return { node, rows, stuck, since: "" };
    if (against === "event") return sinceEvent(explorer, node, stuck);
    const difference = explorer.comparison.of(against, explorer.places.place);
    if (!difference) return null;
    const differing = difference.nodes.find((other) => other.node === node);
    return differing ? { node, rows: differing.rows, stuck, since: "" } : { node, rows: present(rows), stuck, since: "equal" };
  });
}

/** A node's state after its last event, against the one before. */
function sinceEvent({ places }: Explorer, node: number, stuck: string | null): Tree | null {
  const at = lastOf(places.line, places.index, (place) => places.steps.get(place)?.event?.node === node);
  const state = places.need(places.line[at] ?? 0);
  const rows = state?.nodes[node]?.rows;
  if (!rows) return null;
  return { node, rows, stuck, since: at === 0 ? "start" : `step ${at}` };
}

function lastOf(line: Place[], index: number, isOf: (place: Place) => boolean): number {
  let at = index;
  while (at > 0 && !isOf(line[at] ?? 0)) at -= 1;
  return at;
}
