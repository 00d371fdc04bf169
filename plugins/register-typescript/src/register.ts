// A register kept by a majority of the nodes: one node writes, another reads.
// Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.

import { declare, number, oneOf } from "./host/parameters";

/** The parameters: the same for all nodes. */
export const parameters = declare({
  writes: number(1, "how often node 0 writes"),
  reads: number(2, "how often the last node reads"),
  bug: oneOf(["none", "no-write-back", "one-ack"], "what is wrong on purpose"),
});

export type Settings = ReturnType<typeof parameters.read>;

/** A value with the number of the write that it comes from. */
export type Copy = { value: number; version: number };

export type Message =
  | { kind: "query"; op: number }
  | ({ kind: "reply"; op: number } & Copy)
  | ({ kind: "store"; op: number } & Copy)
  | { kind: "stored"; op: number };

export type State = {
  acks: number[];
  best: Copy;
  copy: Copy;
  op: number;
  phase: "idle" | "query" | "store";
  returned: number[];
  role: "writer" | "reader" | "replica";
};

/** To one node, or to all. */
export type Sent = { to: number | "all"; message: Message };

const nothing: Copy = { value: 0, version: 0 };

export class Register {
  readonly state: State;

  constructor(
    self: number,
    readonly nodes: number,
    private readonly settings: Settings = parameters.read(""),
  ) {
    const role = self === 0 ? "writer" : self + 1 === nodes ? "reader" : "replica";
    this.state = { acks: [], best: nothing, copy: nothing, op: 0, phase: "idle", returned: [], role };
  }

  receive(from: number, message: Message): Sent[] {
    const { state } = this;
    const { op } = message;
    switch (message.kind) {
      case "query":
        return [{ to: from, message: { kind: "reply", op, ...state.copy } }];
      case "store":
        if (message.version > state.copy.version) state.copy = copyOf(message);
        return [{ to: from, message: { kind: "stored", op } }];
      case "reply":
        if (state.phase !== "query" || op !== state.op) return [];
        this.acknowledge(from);
        if (message.version > state.best.version) state.best = copyOf(message);
        if (state.acks.length < this.quorum) return [];
        if (this.settings.bug !== "no-write-back") return this.store();
        this.finish();
        return [];
      case "stored":
        if (state.phase !== "store" || op !== state.op) return [];
        this.acknowledge(from);
        if (state.acks.length >= this.quorum) this.finish();
        return [];
    }
  }

  /** What the application can ask for in this state. */
  possible(): "write" | "read" | undefined {
    const { op, phase, role } = this.state;
    if (phase !== "idle") return undefined;
    if (role === "writer" && op < this.settings.writes) return "write";
    if (role === "reader" && op < this.settings.reads) return "read";
    return undefined;
  }

  begin(event: "write" | "read"): Sent[] {
    const { state } = this;
    state.op += 1;
    if (event === "write") {
      state.best = { value: 100 + state.op, version: state.op };
      return this.store();
    }
    state.phase = "query";
    return [{ to: "all", message: { kind: "query", op: state.op } }];
  }

  private get quorum(): number {
    return this.settings.bug === "one-ack" ? 1 : Math.floor(this.nodes / 2) + 1;
  }

  private acknowledge(from: number): void {
    if (!this.state.acks.includes(from)) this.state.acks.push(from);
    this.state.acks.sort((one, other) => one - other);
  }

  /** Gives the best copy to everyone. */
  private store(): Sent[] {
    const { state } = this;
    state.acks = [];
    state.phase = "store";
    return [{ to: "all", message: { kind: "store", op: state.op, ...state.best } }];
  }

  /** Ends the operation. */
  private finish(): void {
    const { state } = this;
    if (state.role === "reader") state.returned.push(state.best.version);
    state.acks = [];
    state.best = nothing;
    state.phase = "idle";
  }
}

function copyOf({ value, version }: Copy): Copy {
  return { value, version };
}
