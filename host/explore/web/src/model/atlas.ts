// The map of the states within reach.

import type { Moved, StateMap } from "../api";
import { get, post } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

export class Atlas {
  map: StateMap | null = null;
  isLoading = false;
  limit = 1000;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  async load(limit: number): Promise<void> {
    this.limit = limit;
    this.isLoading = true;
    const map = await this.core.attempt(() => get<StateMap>(`map?limit=${limit}`));
    if (this.limit !== limit) return;
    this.isLoading = false;
    if (map) this.map = map;
    this.core.changed();
  }

  async go(state: number): Promise<void> {
    const place = this.map?.states[state]?.place ?? null;
    await this.core.attempt(async () => {
      if (place !== null) {
        if (!this.places.steps.has(place)) await this.places.loadTree();
        await this.places.go(place);
      } else {
        await this.places.arrive(await post<Moved>("map/go", { state, limit: this.limit }));
      }
    });
  }
}
