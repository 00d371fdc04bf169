// Standings of properties, by how bad they are.

import type { Standing } from "./api";

export type Letter = "h" | "v" | "o" | "u" | "r" | "n";

/** One node that reaches a property is enough, so this comes before those that do not. */
const BADNESS: Letter[] = ["h", "n", "r", "u", "o", "v"];
export const LETTERS: Record<Standing["standing"], Letter> = {
  holds: "h",
  violated: "v",
  owed: "o",
  unknown: "u",
  reached: "r",
  "not reached": "n",
};

/** The class of a standing in the style sheet. */
export function classOf(standing: Standing["standing"]): string {
  return standing.replace(" ", "-");
}

/** The standing of a property that shows: the worst of its nodes, or that it is reached. */
export function worst(standings: Standing[], property: number): Standing | null {
  let worst: Standing | null = null;
  for (const standing of standings) {
    if (standing.property !== property) continue;
    if (!worst || BADNESS.indexOf(LETTERS[standing.standing]) > BADNESS.indexOf(LETTERS[worst.standing])) worst = standing;
  }
  return worst;
}
