// Searches from a place: started, watched, stopped.

import type { Place, Search } from "../api";
import { Ended, get, post, remove } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

const POLL_MS = 400;

export interface Started {
  from: Place;
  search: Search;
}

export interface Wish {
  strategy: string;
  seconds: number;
  depth: number | null;
  /** The number of random walks, in place of one search. */
  seeds?: number;
}

export class Searches {
  /** The newest first. */
  all: Started[] = [];
  /** Searches whose progress was asked for without an answer, with their places. */
  private readonly lost = new Map<number, Place>();

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  async start(from: Place, wish: Wish): Promise<void> {
    await this.core.attempt(async () => {
      const { search } = await post<{ search: number }>(`places/${from}/search`, wish);
      await this.poll(from, search);
    });
  }

  async stop(search: number): Promise<void> {
    await this.core.attempt(() => remove(`searches/${search}`));
  }

  /** Asks again for what no server answered. */
  resume(): void {
    const lost = [...this.lost];
    this.lost.clear();
    for (const [number, from] of lost) void this.core.attempt(() => this.poll(from, number));
  }

  private async poll(from: Place, number: number): Promise<void> {
    try {
      await this.ask(from, number);
    } catch (error) {
      if (error instanceof Ended) this.lost.set(number, from);
      throw error;
    }
  }

  private async ask(from: Place, number: number): Promise<void> {
    const search = await get<Search>(`searches/${number}`);
    const known = this.all.find((other) => other.search.search === number);
    const found = known?.search.findings.length ?? 0;
    this.all = known
      ? this.all.map((other) => (other === known ? { from, search } : other))
      : [{ from, search }, ...this.all];
    if (search.findings.length > found) await this.places.loadTree();
    this.core.changed();
    if (search.state === "running") window.setTimeout(() => void this.core.attempt(() => this.poll(from, number)), POLL_MS);
  }
}
