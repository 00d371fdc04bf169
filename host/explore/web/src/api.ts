// The shapes of `/<token>/api/v1`. Every text is plain text to be shown as it is.

/** A state in the tree of executions; 0 is the beginning. */
export type Place = number;

/** `GET session`. */
export interface Session {
  version: 1;
  title: string;
  plugin: { reference: string; digest: string };
  /** Where the page begins, and the branch that it shows: the places from the beginning to its end. */
  place: Place;
  line: Place[];
  nodes: string[];
  properties: Property[];
  /** Names for the form of a search, the best one first. */
  strategies?: string[];
  /** The finding at the end of the line: what is violated, then what the property reads, line by line. Empty if nothing is violated. */
  verdict?: string[];
  /** Remarks on single steps of the line. */
  marks?: Mark[];
  /** The component, the command that replays the trace. */
  about?: { name: string; value: string }[];
  /** In place of the critical step of a broken promise: the line in which it is kept. */
  sibling?: { text: string; line: Place[] } | null;
  /** Fields that the violated property reads, as names of rows joined by ".", "#" for any element of a list. */
  reads?: { property: number; node: number; paths: string[] }[];
  /** The nodes that have crashed by the end of the line, of a deadlock. */
  crashed?: number[];
}

/** `ring`: the step that led to the place changes what the violated property reads. `critical`: it is the critical step of a broken promise. `before`, `after`: a line between the rows. */
export interface Mark {
  place: Place;
  kind: "ring" | "critical" | "before" | "after";
  text: string;
}

export interface Property {
  name: string;
  /** `always`, `eventually`, ... as in the report of `host run`. */
  kind: string;
  scope: "node" | "cluster";
}

/** An entry of `GET line?to=P&from=N` (the steps to P, from the Nth on) and of `GET tree?from=P` (all places from P on); at most 20,000 in one answer. */
export interface Step {
  place: Place;
  parent: Place | null;
  depth: number;
  /** None at the beginning. */
  event: Event | null;
  /** What a person called this moment. */
  name: string | null;
  /** What the step did, in words; at the beginning what `init` did. */
  lines?: string[];
}

export interface Event {
  node: number;
  kind: "deliver" | "quorum" | "local" | "timer" | "fault" | "lose";
  /** As in the list of steps of `host replay`. */
  text: string;
  /** The messages that the event takes out of flight. `sent`: the place after the step that sent it; 0: by `init` or in flight at the beginning. */
  received: { from: number; to: number; sent: Place; text: string; lost: boolean }[];
  sent: { from: number; to: number; text: string }[];
  /** The kind of a fault, such as "reset". */
  fault?: string | null;
}

/** `GET places/P`. */
export interface State {
  step: Step;
  children: Step[];
  nodes: NodeState[];
  flight: { from: number; to: number; text: string; sent: Place }[];
  standings: Standing[];
  enabled: Enabled[];
}

export interface NodeState {
  /** Rows of the state, in order, against the state of the parent place. */
  rows: Row[];
  stuck: string | null;
}

/** A row of a state tree. */
export interface Row {
  depth: number;
  mark: "same" | "changed" | "new" | "gone";
  name: string;
  value: string;
  /** The value before, of a row that is changed. */
  old: string | null;
}

export interface Standing {
  property: number;
  node: number | null;
  /** A `sometimes` property is reached or not reached. */
  standing: "holds" | "violated" | "owed" | "unknown" | "reached" | "not reached";
  why: string | null;
}

export interface Enabled {
  /** Stays the same for a place. */
  action: number;
  node: number;
  kind: Event["kind"];
  text: string;
  /** One per combination of choices; usually one. */
  outcomes: { outcome: number; text: string | null; child: Place | null }[];
}

/** `GET standings?to=P&from=N`: per property one letter per step of the line to P, from the Nth on (0: the beginning), the worst of its nodes: `h`olds, `v`iolated, `o`wed, `u`nknown, `r`eached, `n`ot reached; at most 20,000 steps. */
export interface Strips {
  strips: string[];
}

/** `GET places/P/preview?action=A&outcome=O`: what the step would change. Nothing moves. */
export interface Preview {
  node: number;
  rows: Row[];
  sent: { from: number; to: number; text: string }[];
  standings: Standing[];
}

/** `POST open` with a trace, and `POST replay` with `{ fragment }`: `line` is the branch from its beginning. `POST places/P/take` with `{ action, outcome }`: `line` begins at P, whose way is known. */
export interface Moved {
  place: Place;
  line: Place[];
}

/** `GET diff?one=P&other=Q`: nodes that do not differ are left out. `first`: the number of shared steps, where the branches part. */
export interface Difference {
  shared: number;
  nodes: { node: number; rows: Row[] }[];
}

/** `GET places/P/why?message=N` (index in `flight`) or `?event=WORDS`: why something is not enabled. `GET places/P/writer?node=N&path=a.b`: the last step that wrote a field. */
export interface Why {
  text: string;
  places: Place[];
}

/** `POST probes` with `{ expression }` gives `{ probe }`; `GET probes/N?to=P&from=N` gives one value per step of the line from the Nth on, as many as there is time for; `DELETE probes/N`. */
export interface Probe {
  probe: number;
  expression: string;
  values: (string | null)[];
}

/** `POST places/P/search` with `{ strategy, seconds, depth, seeds }` gives `{ search }`; `GET searches/N`; `DELETE searches/N` stops it. With `seeds`: that number of random walks in place of the strategy. */
export interface Search {
  search: number;
  strategy: string;
  state: "running" | "stopped" | "done" | "failed";
  /** The last line of progress, or the verdict. */
  text: string;
  /** They grow while it runs. */
  findings: Finding[];
  /** Of a search by seeds. */
  seeds?: { asked: number; done: number; violating: number } | null;
  /** Of a search that has found nothing: traces with different ends. */
  representatives?: Finding[];
}

export interface Finding {
  text: string;
  place: Place;
  line: Place[];
  /** Of a search by seeds: how many of them end so; this is the shortest one. */
  seeds?: number | null;
  marks?: Mark[];
}

/** `GET map?limit=N`: the states within reach, breadth first, at most N. `POST map/go` with `{ state, limit }`: goes to a state of it. `GET local?node=N&at=P&limit=M`: the states of one node. */
export interface StateMap {
  complete: boolean;
  /** `place`: where the state has been, if it has. */
  states: { level: number; violated: number[]; local: string; place?: Place | null }[];
  edges: { from: number; to: number; node: number; text: string }[];
  /** The state of the node at the place, in the graph of one node. */
  here?: number | null;
}

/** `POST places/P/name` with `{ name }`. `POST places/P/save` with `{ path }` writes a trace: `{ text }`; `POST places/P/scenario` writes one with a scenario, `*.toml`, that `host test` runs. `GET places/P/link`: `{ fragment }`. `GET places/P/trace`: the trace. */

/** Every refusal: status 400, 403, 404 or 409. */
export interface Refusal {
  error: string;
  help: string | null;
}
