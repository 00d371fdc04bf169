// The plugin: what the host calls, on top of the protocol in register.ts.

import { decode, encode } from "./host/json";
import { type Message, parameters, Register, type Sent } from "./register";

let register: Register;

function envelopes(sent: Sent[]): Envelope[] {
  return sent.flatMap(({ to, message }) => {
    const bytes = encode(message);
    const destinations = to === "all" ? Array.from({ length: register.nodes }, (_, node) => node) : [to];
    return destinations.map((node) => ({ to: node, message: bytes }));
  });
}

export const node: Node = {
  init(self, clusterSize, config) {
    register = new Register(self, clusterSize, parameters.read(config));
    return [];
  },
  handleMessage(src, message) {
    return envelopes(register.receive(src, decode<Message>(message)));
  },
  localEvents() {
    const name = register.possible();
    return name ? [{ name, kind: "application", payload: encode(name) }] : [];
  },
  handleLocal(event) {
    return envelopes(register.begin(event.name as "write" | "read"));
  },
  serialize() {
    return encode(register.state);
  },
};

export const specification: Specification = {
  properties() {
    return [
      { name: "monotone", kind: "always", scope: "node" },
      { name: "stored-by-majority", kind: "always", scope: "system" },
      { name: "write-is-read", kind: "sometimes", scope: "node" },
    ];
  },
  view(property) {
    const { copy, op, phase, returned, role } = register.state;
    if (property === 0) return returned.length > 1 ? encode(returned) : undefined;
    if (property === 1) {
      const complete = role !== "writer" ? 0 : phase === "idle" ? op : op - 1;
      return complete > 0 || copy.version > 0 ? encode({ complete, version: copy.version }) : undefined;
    }
    const newest = Math.max(0, ...returned);
    return newest > 0 ? encode(newest) : undefined;
  },
  invariant(property, views) {
    if (property === 0) {
      const returned = decode<number[]>(views[0]!);
      const at = returned.findIndex((version, index) => index > 0 && version < returned[index - 1]!);
      if (at > 0) throw `a read returned version ${returned[at]} after ${returned[at - 1]}`;
    }
    if (property === 1) {
      type View = { complete: number; version: number };
      const known = views.map((view) => (view ? decode<View>(view) : { complete: 0, version: 0 }));
      const complete = Math.max(...known.map((view) => view.complete));
      const holders = known.filter((view) => view.version >= complete).length;
      if (holders <= Math.floor(known.length / 2)) {
        throw `write ${complete} is complete, and ${holders} of ${known.length} nodes have it`;
      }
    }
  },
};

export const defaults: Defaults = {
  about() {
    return {
      name: "register-typescript",
      version: "0.1.0",
      summary: "A register kept by a majority, in TypeScript.",
      nodes: 3,
      network: "unordered",
      identity: "serialized",
      parameters: parameters.listed,
    };
  },
};
