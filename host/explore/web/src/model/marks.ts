// What is special about steps: those of the session, and those of findings that were opened.

import type { Mark, Place } from "../api";

export class Marks {
  private readonly all = new Map<Place, Mark[]>();

  learn(marks: Mark[] | undefined): void {
    for (const mark of marks ?? []) {
      const known = this.all.get(mark.place) ?? [];
      if (!known.some(({ kind, text }) => kind === mark.kind && text === mark.text)) this.all.set(mark.place, [...known, mark]);
    }
  }

  of(place: Place, kind: Mark["kind"]): Mark[] {
    return this.all.get(place)?.filter((mark) => mark.kind === kind) ?? [];
  }

  /** The text of the first mark of a kind. */
  textOf(place: Place, kind: Mark["kind"]): string | null {
    return this.of(place, kind)[0]?.text ?? null;
  }

  /** The first place of a line with a mark of this kind. */
  first(line: Place[], kind: Mark["kind"]): Place | null {
    return line.find((place) => this.of(place, kind).length > 0) ?? null;
  }
}
