// The text of an event where its column says which node it belongs to.

import type { Event } from "../api";
import { takenBy } from "../model/kinds";

export function short(event: Event, name: string): string {
  const [received] = takenBy(event);
  if (event.kind === "deliver" && received) return received.text;
  for (const [start, instead] of [[`${name}: `, ""], [`${name} <- `, "from "]] as const) {
    if (event.text.startsWith(start)) return instead + event.text.slice(start.length);
  }
  return event.text;
}
