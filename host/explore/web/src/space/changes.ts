// What a step changes at its node, in few words.

import type { Row, State } from "../api";
import { path, within } from "../state/rows";

const CHANGES_MAX = 4;

export function changesOf(state: State | null): string {
  const node = state?.step.event?.node;
  const rows = node === undefined ? [] : (state?.nodes[node]?.rows ?? []);
  const all: string[] = [];
  rows.forEach((row, index) => {
    const text = row.mark === "same" ? null : textOf(row, within(rows, path(rows, index)));
    if (text === null) return;
    all.push(text);
  });
  const more = all.length > CHANGES_MAX ? `, ${all.length - CHANGES_MAX} more` : "";
  return all.slice(0, CHANGES_MAX).join(", ") + more;
}

function textOf({ mark, value, old }: Row, path: string): string | null {
  if (mark === "changed" && old !== null) return `${path}: ${old} → ${value}`;
  // Rows without a value have rows below them that say more.
  if (value === "") return null;
  return mark === "gone" ? `- ${path}: ${value}` : `+ ${path}: ${value}`;
}
