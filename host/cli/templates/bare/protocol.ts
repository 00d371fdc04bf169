// Every node greets the next one, once.

import { decode, encode } from "./host/json";

/** What a node knows: how many greetings it has heard. */
let state = { heard: 0 };

export const node: Node = {
  init(self, clusterSize) {
    state = { heard: 0 };
    return [{ to: (self + 1) % clusterSize, message: encode("hello") }];
  },
  handleMessage(src, message) {
    state.heard += 1;
    return [];
  },
  localEvents() {
    return [];
  },
  handleLocal(event) {
    return [];
  },
  serialize() {
    return encode(state);
  },
};

export const specification: Specification = {
  properties() {
    return [{ name: "heard-once", kind: "always", scope: "node" }];
  },
  view(property) {
    return encode(state.heard);
  },
  invariant(property, views) {
    const heard = decode<number>(views[0]!);
    if (heard > 1) throw `heard ${heard} greetings`;
  },
};

export const defaults: Defaults = {
  about() {
    return {
      name: "bare-protocol",
      version: "0.1.0",
      summary: "Every node greets the next one.",
      nodes: 3,
      network: "unordered",
      identity: "serialized",
      parameters: [],
    };
  },
};
