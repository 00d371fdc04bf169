// Makes a bundle of the branch that is shown, or of all branches if they are few.

import type { Place, Session, State } from "../api";
import { get } from "../client";
import { bundle } from "../recording/bundle";
import type { Core } from "./core";
import type { Places } from "./places";

/** Places of all branches that are recorded together. */
const PLACES_MAX = 500;
/** Steps of a bundle: each is a request, and the page of the bundle reads all of them before it shows one. */
const STEPS_MAX = 5_000;
const BYTES_MAX = 32 * 1024 * 1024;
/** Requests that wait for their answers at the same time. */
const ASKED_AT_ONCE = 20;

export async function download(core: Core, places: Places, session: Session): Promise<void> {
  const all = [...places.steps.keys()].sort((one, other) => one - other);
  const chosen: Place[] = all.length <= PLACES_MAX ? all : places.line;
  if (chosen.length > STEPS_MAX + 1) {
    const remedy = "Save the steps as a trace: host explore opens it, and host minimize shortens one that ends in a violation.";
    core.say(`A bundle has at most ${STEPS_MAX} steps, and this branch has ${chosen.length - 1}.`, remedy, true);
    return;
  }
  const states: State[] = [];
  let bytes = 0;
  for (let from = 0; from < chosen.length && bytes <= BYTES_MAX; from += ASKED_AT_ONCE) {
    const asked = chosen.slice(from, from + ASKED_AT_ONCE);
    for (const state of await Promise.all(asked.map((place) => get<State>(`places/${place}`)))) {
      bytes += JSON.stringify(state).length;
      if (bytes <= BYTES_MAX) states.push(state);
    }
  }
  if (bytes > BYTES_MAX) core.say(`The bundle ends at step ${states.length - 1}: more than ${BYTES_MAX / 1024 / 1024} MiB are not recorded.`);
  const there = new Set(states.map(({ step }) => step.place));
  const line = places.line.filter((place) => there.has(place));
  const place = there.has(places.place) ? places.place : (line[0] ?? 0);
  const html = await bundle({ session: { ...session, place, line }, states });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  link.download = "explored.html";
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
