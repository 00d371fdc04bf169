// A step moved up the branch, where it is independent of the steps that it passes.

import type { Event, Moved, Place, State } from "../api";
import { get, post } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

/** Later steps that are taken again after the moved one. */
const LATER_MAX = 100;

/** Moves the step of row `from` to row `to`, above it. */
export async function reorder(places: Places, core: Core, from: number, to: number): Promise<void> {
  const eventAt = (row: number) => places.steps.get(places.line[row] ?? -1)?.event ?? null;
  const start = places.line[to - 1];
  const moved = eventAt(from);
  if (start === undefined || !moved || to >= from) return;
  const first = await takeSame(start, moved);
  if (!first) {
    core.say(`"${moved.text}" is not possible before step ${to}`, "A step between causes it, or it needs what that one sends.", true);
    return;
  }
  const end = Math.min(places.line.length, from + 1 + LATER_MAX);
  let last: Moved = first;
  const line = [...places.way(start), first.place];
  for (let row = to; row < end; row += 1) {
    const event = row === from ? null : eventAt(row);
    if (!event) continue;
    const next = await takeSame(last.place, event);
    if (!next) {
      core.say(`"${event.text}", which was step ${row}, is not possible any more: the new branch ends before it.`);
      break;
    }
    last = next;
    line.push(next.place);
  }
  // What the session knows behind the last one of them.
  await places.arrive({ place: first.place, line: [...line, ...last.line.slice(2)] });
}

/** Takes the event with the same words, if it is enabled. */
async function takeSame(at: Place, event: Event): Promise<Moved | null> {
  const state = await get<State>(`places/${at}`);
  const same = state.enabled.find(({ node, kind, text }) => node === event.node && kind === event.kind && event.text.startsWith(text));
  const outcome = same?.outcomes.find(({ text }) => text !== null && event.text.includes(text)) ?? same?.outcomes[0];
  if (!same || !outcome) return null;
  return post<Moved>(`places/${at}/take`, { action: same.action, outcome: outcome.outcome });
}
