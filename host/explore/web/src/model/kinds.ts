// Kinds of messages, by their first word; those of a hidden kind are not drawn, and steps that receive one are passed over.

import type { Event, Place, Step } from "../api";

const KINDS_MAX = 64;

export function kindOf(text: string): string {
  return /[\p{L}\p{N}_-]+/u.exec(text)?.[0] ?? text.slice(0, 12);
}

/** What a step is about: the messages that it receives, or loses by itself. Those that a broken connection takes along are no cause of it. */
export function takenBy(event: Event): Event["received"] {
  return event.received.filter(({ lost }) => !lost || event.kind === "lose");
}

export class Kinds {
  readonly hidden = new Set<string>();

  /** Whether a step does nothing but receive or lose messages of hidden kinds. */
  isHidden(event: Event | null): boolean {
    if (this.hidden.size === 0 || !event) return false;
    const taken = takenBy(event);
    return taken.length > 0 && taken.every(({ text }) => this.hidden.has(kindOf(text)));
  }

  toggle(kind: string): void {
    if (!this.hidden.delete(kind)) this.hidden.add(kind);
  }

  /** The kinds of a branch, in the order of sending. */
  of(line: Place[], steps: Map<Place, Step>, atStart: { text: string }[]): string[] {
    const all = new Set(atStart.map(({ text }) => kindOf(text)));
    for (const place of line) {
      for (const { text } of steps.get(place)?.event?.sent ?? []) if (all.size < KINDS_MAX) all.add(kindOf(text));
    }
    return [...all];
  }
}
