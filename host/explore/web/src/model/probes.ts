// Expressions whose values are columns next to the steps.

import type { Place, Probe } from "../api";
import { get, post, remove } from "../client";
import type { Core } from "./core";
import type { Places } from "./places";

export class Probes {
  all: Probe[] = [];
  private end: Place | null = null;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  async add(expression: string): Promise<boolean> {
    const added = await this.core.attempt(async () => {
      const { probe } = await post<{ probe: number }>("probes", { expression });
      this.all = [...this.all, await this.values(probe, this.lineEnd)];
      return true;
    });
    return added === true;
  }

  async remove(probe: number): Promise<void> {
    this.all = this.all.filter((other) => other.probe !== probe);
    await this.core.attempt(() => remove(`probes/${probe}`));
  }

  /** Asks for the values along the branch that is shown, if it is another one. */
  follow(): void {
    const end = this.lineEnd;
    if (end === this.end) return;
    this.end = end;
    if (this.all.length === 0) return;
    void this.core.attempt(async () => {
      const all = await Promise.all(this.all.map(({ probe }) => this.values(probe, end)));
      if (this.end !== end) return;
      this.all = this.all.map((old) => all.find(({ probe }) => probe === old.probe) ?? old);
    });
  }

  /** Asks again for what no server answered. */
  resume(): void {
    this.end = null;
  }

  private get lineEnd(): Place {
    return this.places.line[this.places.line.length - 1] ?? 0;
  }

  private values(probe: number, end: Place): Promise<Probe> {
    return get<Probe>(`probes/${probe}?to=${end}`);
  }
}
