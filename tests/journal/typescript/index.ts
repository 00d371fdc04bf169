// The journal of ../rust/src/lib.rs, in TypeScript; tests/cli/journals.rs compares them.

import { sync } from "host:protocol/durability@0.1.0";
import * as storage from "host:protocol/storage@0.1.0";

import { decode, encode } from "./host/json";
import { declare, number as count, oneOf } from "./host/parameters";
import { numbers, Table } from "./host/storage";

const bugs = ["none", "forget-sync", "delete-one-more"];
const parameters = declare({
  entries: count(2, "the number of entries"),
  bug: oneOf(bugs, "what is wrong on purpose"),
});

interface Message {
  index: number;
  kind: string;
  value: number;
}

interface Kept {
  acknowledged: number[];
  base: number;
  kept: number[];
}

const entries = new Table<number, number>(storage, "entries", numbers);
const counts = new Table<number, number>(storage, "numbers", numbers);

let [me, nodes, wanted, bug] = [0, 0, 2, "none"];
let acknowledged: number[] = [];

/** The first entry of a follower that is not deleted, and the number of entries of the leader. */
const number = () => counts.get(0) ?? 0;

const send = (to: number, kind: string, index: number, value = 0): Envelope => {
  return { to, message: encode({ index, kind, value }) };
};

const toOthers = (kind: string, index: number, value = 0) => {
  return Array.from({ length: nodes - 1 }, (_, nth) => send(nth + 1, kind, index, value));
};

export const node: Node = {
  init(self, clusterSize, config) {
    const given = parameters.read(config);
    [me, nodes, wanted, bug] = [self, clusterSize, given.entries, given.bug];
    acknowledged = Array.from({ length: nodes }, () => 0);
    if (me > 0) return [];
    return [...entries.range()].flatMap(([index, value]) => toOthers("append", index, value));
  },
  handleMessage(src, message) {
    const { index, kind, value } = decode<Message>(message);
    if (kind === "append") {
      if (index >= number() && entries.get(index) === undefined) {
        entries.put(index, value);
        if (bug !== "forget-sync") sync();
      }
      // All entries before this one are there.
      let next = number();
      for (const [key] of entries.range(next)) if (key === next) next += 1;
      return [send(src, "acknowledge", next)];
    }
    if (kind === "acknowledge") {
      acknowledged[src] = Math.max(acknowledged[src]!, index);
      const all = Math.min(...acknowledged.slice(1));
      const old = all > 0 ? [...entries.range(undefined, all - 1)] : [];
      for (const [key] of old) entries.delete(key);
      return old.length > 0 ? toOthers("compact", all) : [];
    }
    entries.deleteRange(undefined, bug === "delete-one-more" ? index : index - 1);
    if (index > number()) counts.put(0, index);
    return [];
  },
  localEvents() {
    if (me !== 0 || number() >= wanted) return [];
    return [{ name: "append", kind: "application", payload: new Uint8Array() }];
  },
  handleLocal() {
    const index = number();
    entries.put(index, 100 + index);
    counts.put(0, index + 1);
    sync();
    return toOthers("append", index, 100 + index);
  },
  serialize: () => encode({ acknowledged, me }),
};

export const specification: Specification = {
  properties: () => [
    { name: "acknowledged-is-kept", kind: "always", scope: "system" },
    { name: "more-after-deleted", kind: "sometimes", scope: "node" },
  ],
  view(property) {
    if (property === 0) return encode({ acknowledged, base: number(), kept: [...entries.range()].map(([key]) => key) });
    return me === 0 ? undefined : encode([number(), entries.last()?.[0] ?? 0]);
  },
  invariant(property, encoded) {
    if (property === 1) {
      const [base, last] = decode<[number, number]>(encoded[0]!);
      if (base === 0 || last < base) throw "none yet";
      return;
    }
    const [leader, ...others] = encoded.map((view) => view && decode<Kept>(view));
    if (!leader) return;
    others.forEach((view, nth) => {
      for (let index = view ? view.base : Infinity; index < leader.acknowledged[nth + 1]!; index += 1) {
        if (!view!.kept.includes(index)) throw `node ${nth + 1} has acknowledged entry ${index} and lost it`;
      }
    });
  },
};

export const defaults: Defaults = {
  about: () => ({
    name: "journal-in-typescript",
    version: "0.1.0",
    summary: "A journal in the durable map.",
    nodes: 2,
    network: "unordered",
    identity: "serialized",
    parameters: parameters.listed,
  }),
};
