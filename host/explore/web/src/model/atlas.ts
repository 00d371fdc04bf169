// The map of the states within reach.

import type { Moved, Place, StateMap } from "../api";
import { get, post } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

export class Atlas {
  map: StateMap | null = null;
  isLoading = false;
  limit = 1000;
  /** The node whose graph is shown; null: that of the cluster. */
  node: number | null = null;

  /** The place for which the graph of a node was asked. */
  private at: Place | null = null;
  private turn = 0;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  async load(limit: number, node: number | null = this.node): Promise<void> {
    const turn = (this.turn += 1);
    this.isLoading = true;
    const path = node === null ? `map?limit=${limit}` : `local?node=${node}&at=${this.places.place}&limit=${limit}`;
    const map = await this.core.attempt(() => get<StateMap>(path));
    if (this.turn !== turn) return;
    this.isLoading = false;
    if (map) Object.assign(this, { map, limit, node, at: node === null ? null : this.places.place });
    this.core.changed();
  }

  /** Of a node the state in which it is, which may be none of the graph. */
  follow(): void {
    if (this.node !== null && !this.isLoading && this.at !== this.places.place) void this.load(this.limit);
  }

  async go(state: number): Promise<void> {
    const place = this.map?.states[state]?.place ?? null;
    await this.core.attempt(async () => {
      if (place !== null) {
        if (!this.places.steps.has(place)) await this.places.loadTree();
        await this.places.go(place);
      } else if (this.node === null) {
        await this.places.arrive(await post<Moved>("map/go", { state, limit: this.limit }));
      }
    });
  }
}
