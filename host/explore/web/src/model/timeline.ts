// How each property stands along the branch that is shown.

import type { Place, Strips } from "../api";
import { get, Refused } from "../client";
import { LETTERS, worst } from "../standings";
import type { Core } from "./core";
import { sharedBy } from "./lines";
import type { Places } from "./places";

export class Timeline {
  private strips: string[] = [];
  /** The line of these strips. */
  private known: Place[] = [];
  private wanted: Place | null = null;
  /** The server has no standings of a whole line; those of places seen are shown. */
  private isMissing = false;

  constructor(
    private readonly core: Core,
    private readonly places: Places,
  ) {}

  /** One letter per step of the branch: `.` where it is not known. */
  strip(property: number): string {
    this.ask();
    const line = this.places.line;
    let strip = (this.strips[property] ?? "").slice(0, sharedBy(this.known, line));
    for (let index = strip.length; index < line.length; index += 1) {
      const state = this.places.stateOf(line[index] ?? 0);
      const standing = state && worst(state.standings, property);
      strip += standing ? LETTERS[standing.standing] : ".";
    }
    return strip;
  }

  /** The first step of the branch in which a property is violated and was not before, after a step. */
  nextViolation(properties: number, after: number): number | null {
    let first: number | null = null;
    for (let property = 0; property < properties; property += 1) {
      const strip = this.strip(property);
      for (let index = after + 1; index < strip.length; index += 1) {
        if (strip[index] !== "v" || strip[index - 1] === "v") continue;
        if (first === null || index < first) first = index;
        break;
      }
    }
    return first;
  }

  /** Asks again for what no server answered. */
  resume(): void {
    this.wanted = null;
  }

  private ask(): void {
    const { line, place } = this.places;
    const end = line[line.length - 1] ?? 0;
    if (this.isMissing || end === this.wanted) return;
    // Steps that were just taken come with their standings; that of the present place is on its way.
    const shared = sharedBy(this.known, line);
    if (shared > 0 && line.slice(shared).every((other) => other === place || this.places.stateOf(other))) return;
    this.wanted = end;
    void this.core.attempt(async () => {
      try {
        // A long line takes several answers; each is shown when it is here.
        for (let from = shared; from < line.length; ) {
          const { strips } = await get<Strips>(`standings?to=${end}&from=${from}`);
          if (this.wanted !== end) return;
          this.strips = strips.map((strip, property) => (this.strips[property] ?? "").slice(0, from) + strip);
          from += strips[0]?.length || line.length;
          this.known = from < line.length ? line.slice(0, from) : line;
          this.core.changed();
        }
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.isMissing = error.status === 404;
      }
    });
  }
}
