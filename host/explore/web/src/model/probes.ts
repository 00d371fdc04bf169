// Expressions whose values are columns next to the steps.

import type { Place, Probe } from "../api";
import { get, post, remove } from "../client";
import type { Core } from "./core";
import { sharedBy } from "./lines";
import type { Places } from "./places";

export class Probes {
  all: Probe[] = [];
  /** The branch of the values. */
  private known: Place[] = [];
  private turn = 0;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  async add(expression: string): Promise<boolean> {
    const added = await this.core.attempt(async () => {
      const { probe } = await post<{ probe: number }>("probes", { expression });
      this.all = [...this.all, { probe, expression, values: [] }];
      this.core.changed();
      return true;
    });
    if (added) await this.fill();
    return added === true;
  }

  async remove(probe: number): Promise<void> {
    this.all = this.all.filter((other) => other.probe !== probe);
    await this.core.attempt(() => remove(`probes/${probe}`));
  }

  /** Asks for the values along the branch that is shown, if it is another one. */
  follow(): void {
    const { line } = this.places;
    if (line === this.known) return;
    // Steps of both branches keep their values: a step more costs one of them.
    const shared = sharedBy(this.known, line);
    this.known = line;
    if (this.all.length === 0) return;
    this.all = this.all.map((probe) => ({ ...probe, values: probe.values.slice(0, shared) }));
    void this.fill();
  }

  /** Asks again for what no server answered. */
  resume(): void {
    if (this.all.some((probe) => this.isMissing(probe))) void this.fill();
  }

  private isMissing({ values }: Probe): boolean {
    return values.length < this.places.line.length;
  }

  /** Asks for missing values, an answer after the other, until all are there or the branch is another one. */
  private async fill(): Promise<void> {
    const turn = (this.turn += 1);
    await this.core.attempt(async () => {
      for (;;) {
        const next = this.all.find((probe) => this.isMissing(probe));
        if (!next) return;
        const { line } = this.places;
        const { expression, values } = await get<Probe>(`probes/${next.probe}?to=${line[line.length - 1] ?? 0}&from=${next.values.length}`);
        if (turn !== this.turn || values.length === 0) return;
        this.all = this.all.map((old) => (old.probe === next.probe ? { ...old, expression, values: [...old.values, ...values] } : old));
        this.core.changed();
      }
    });
  }
}
