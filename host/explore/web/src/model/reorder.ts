// A step moved before the one above it, where the two are independent.

import type { Event, Place, State } from "../api";
import { get } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

export async function reorder(places: Places, core: Core, index: number): Promise<void> {
  const [before, above, below] = [places.line[index - 2], places.line[index - 1], places.line[index]];
  if (before === undefined || above === undefined || below === undefined) return;
  const events = [places.steps.get(below)?.event, places.steps.get(above)?.event];
  let at: Place = before;
  for (const event of events) {
    if (!event) return;
    const found = await enabled(at, event);
    if (!found) {
      core.say(`${event.text} is not possible before the step above`, "The step above causes it, or takes away what it needs.", true);
      return;
    }
    await places.take(at, found.action, found.outcome);
    at = places.place;
  }
}

/** An event among those that are enabled in a place, with the outcome of the same words if it has several. */
async function enabled(place: Place, event: Event): Promise<{ action: number; outcome: number } | null> {
  const state = await get<State>(`places/${place}`);
  const same = state.enabled.find(({ node, kind, text }) => node === event.node && kind === event.kind && text === event.text);
  const outcome = same?.outcomes.find(({ text }) => text !== null && event.text.includes(text)) ?? same?.outcomes[0];
  return same && outcome ? { action: same.action, outcome: outcome.outcome } : null;
}
