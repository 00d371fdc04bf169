// Happens-before: the rows that a row follows from.

import type { Place, Step } from "../api";
import { takenBy } from "../model/kinds";

export function past(line: Place[], steps: Map<Place, Step>, row: number): Set<number> {
  const rows = new Map<Place, number>();
  line.forEach((place, index) => rows.set(place, index));
  const earlier = new Map<number, number>();
  const before: (number | undefined)[] = [];
  line.slice(0, row + 1).forEach((place, index) => {
    const node = steps.get(place)?.event?.node;
    if (node === undefined) return;
    before[index] = earlier.get(node);
    earlier.set(node, index);
  });
  const causes = new Set<number>();
  const open = [row];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (causes.has(at)) continue;
    causes.add(at);
    const local = before[at];
    if (local !== undefined) open.push(local);
    const event = steps.get(line[at] ?? -1)?.event;
    for (const { sent } of event ? takenBy(event) : []) open.push(rows.get(sent) ?? 0);
  }
  return causes;
}
