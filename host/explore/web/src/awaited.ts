// Fields that a server may not have yet. One that has them declares them in api.ts, and the row here goes.

import "./api";

declare module "./api" {
  interface Session {
    /** The finding at the end of the line: first what is violated, then what the property reads; empty if nothing is violated. */
    verdict?: string[];
    marks?: Mark[];
    /** The component and its digest, the command that replays the trace. */
    about?: { name: string; value: string }[];
    /** In place of a critical step: the line in which the promise is kept, which parts before it. */
    sibling?: { text: string; line: Place[] } | null;
    /** The fields that a violated property reads, as paths of row names; `#` stands for every element of a list. */
    reads?: { property: number; node: number; paths: string[] }[];
  }

  /** What is special about the step to a place. */
  interface Mark {
    place: Place;
    /** `ring`: it changes what the violated property reads. `critical`: that of a broken promise. `before`, `after`: a line with the text above or below it. */
    kind: "ring" | "critical" | "before" | "after";
    text: string;
  }

  interface Step {
    /** What the step did, in words: changes, messages, losses, lines given to log, a fault. */
    lines?: string[];
  }

  interface Event {
    /** `reset`, `crash`, `break`, ...; none of other events. */
    fault?: string | null;
  }

  interface Search {
    /** Of a search with `seeds`, which is the number of random walks. */
    seeds?: { asked: number; done: number; violating: number } | null;
    /** Of a search that found nothing: a few executions with different ends. */
    representatives?: Finding[];
  }

  /** An element of `Search.findings`. */
  interface Finding {
    text: string;
    place: Place;
    line: Place[];
    marks?: Mark[];
    /** How many seeds end like this one, which is the shortest. */
    seeds?: number | null;
  }

  interface StateMap {
    /** Of `GET local?node=N&at=P&limit=M`, which has the states of one node: the state in which it is at P. */
    here?: number | null;
  }
}
