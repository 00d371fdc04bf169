// A leader writes one value to all nodes; `bug` breaks one of the ready-made properties each. `tests/ready.rs` runs it.

import "../stand-ins/globals";
import { read } from "library";
import { decode, encode } from "./host/json";
import { declare, oneOf } from "./host/parameters";
import * as ready from "./host/ready_made";

const bugs = ["none", "two-leaders", "own-value", "early-answer", "early-commit", "deaf-replica"];
const parameters = declare({ bug: oneOf(bugs, "what is wrong on purpose") });
const claims = ["one-leader", "logs-agree", "durable", "majority", "converge"];

let [me, nodes, bug] = [0, 0, "none"];
const state = {
  acknowledged: [] as number[],
  acks: 0,
  begun: false,
  committed: [] as number[],
  log: [] as number[],
  role: "Follower",
  term: 1,
  value: 0,
};

function store(value: number) {
  state.log.push(value);
  state.value = value;
}

export const node: Node = {
  init(self, clusterSize, config) {
    [me, nodes, bug] = [self, clusterSize, parameters.read(config).bug];
    if (me === 0 || (bug === "two-leaders" && me === 1)) state.role = "Leader";
    return [];
  },
  handleMessage(src, message) {
    const { value } = decode<{ value: number }>(message);
    if (value === 0) {
      state.acks += 1;
      state.committed = state.log.slice(0, 1);
      state.acknowledged = state.log.slice(0, 1);
      return [];
    }
    if (bug === "deaf-replica" && me + 1 === nodes) return [];
    store(bug === "own-value" ? me + 1 : value);
    return [{ to: src, message: encode({ value: 0 }) }];
  },
  localEvents() {
    if (state.role !== "Leader" || state.begun) return [];
    return [{ name: "begin", kind: "internal", payload: new Uint8Array() }];
  },
  handleLocal() {
    if (read() !== "stand-in undefined stood-in") throw new Error(read());
    state.begun = true;
    store(7);
    if (bug === "early-answer") state.acknowledged = [7];
    if (bug === "early-commit") state.committed = [7];
    const others = Array.from({ length: nodes }, (_, to) => to).filter((to) => to !== me);
    return others.map((to) => ({ to, message: encode({ value: 7 }) }));
  },
  serialize: () => encode(state),
};

export const specification: Specification = {
  properties: () => claims.map((name, nth) => ({ name, kind: nth < 4 ? "always" : "eventually", scope: "system" })),
  view(property) {
    const { acknowledged, committed, log, role, term } = state;
    const leads = role === "Leader";
    const views = [
      leads ? term : undefined,
      log,
      { acknowledged, stored: log },
      { committed: committed.length, entries: log },
      log,
    ];
    const view = views[property];
    return view === undefined ? undefined : encode(view);
  },
  invariant(property, encoded) {
    const views: any[] = encoded.map((view) => view && decode(view));
    const judges: ((views: any[]) => string | undefined)[] = [
      ready.oneLeaderPerTerm,
      ready.logsAgree,
      ready.acknowledgedIsDurable,
      ready.committedIsOnAMajority,
      ready.replicasConverge,
    ];
    const why = judges[property]!(views);
    if (why) throw why;
  },
};

export const names: Names = { nodeName: () => (me === 0 ? "leader" : "replica") };

export const defaults: Defaults = {
  about: () => ({
    name: "ready-in-typescript",
    version: "0.1.0",
    summary: "Breaks one of the ready-made properties each.",
    nodes: 3,
    network: "unordered",
    identity: "serialized",
    parameters: parameters.listed,
  }),
};
