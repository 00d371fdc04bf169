// Two places compared: the steps that they share, and the nodes that differ.

import type { Difference, Place } from "../api";
import { get } from "../client";
import type { Core } from "./core";

const DIFFERENCES_MAX = 50;

export class Comparison {
  /** Null: asked for, not here yet, or refused. */
  private readonly all = new Map<string, Difference | null>();

  constructor(private readonly core: Core) {}

  /** Asks again for what no server answered. */
  resume(): void {
    for (const [key, difference] of this.all) if (!difference) this.all.delete(key);
  }

  /** The difference, if it is here; asks for it otherwise. */
  of(one: Place, other: Place): Difference | null {
    const key = `${one} ${other}`;
    const known = this.all.get(key);
    if (known !== undefined) return known;
    if (this.all.size >= DIFFERENCES_MAX) this.all.clear();
    this.all.set(key, null);
    void this.core.attempt(async () => {
      this.all.set(key, await get<Difference>(`diff?one=${one}&other=${other}`));
    });
    return null;
  }
}
