// States of steps in sight, asked for one after the other while nothing else is asked for.

import type { Place } from "../api";
import type { Core } from "./core";
import type { Places } from "./places";

const IDLE_MS = 120;
/** Answers after which the page is drawn again. */
const BATCH = 8;

export class Ahead {
  private key = "";
  private timer = 0;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  /** Asks again for what no server answered. */
  resume(): void {
    this.key = "";
  }

  want(places: Place[]): void {
    const key = places.join(" ");
    if (key === this.key) return;
    this.key = key;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(key, places), IDLE_MS);
  }

  private async load(key: string, places: Place[]): Promise<void> {
    let answers = 0;
    for (const place of places) {
      // What the user asks for comes first.
      while (this.core.pending > 0) await new Promise((resolve) => window.setTimeout(resolve, IDLE_MS));
      if (key !== this.key || this.core.isEnded) return;
      if (this.places.stateOf(place)) continue;
      if (!(await this.places.fetchQuietly(place))) return;
      answers += 1;
      if (answers % BATCH === 0) this.core.changed();
    }
    if (answers > 0) this.core.changed();
  }
}
