// npm install && npm test

import assert from "node:assert/strict";
import { test } from "node:test";

import { reachable } from "../host/reachable";
import * as ready from "../host/ready_made";
import { numbers, Stored, Table, texts } from "../host/storage";

class Kept {
  next: unknown;
  constructor(public numbers: number[] = [], private names = new Map<string, unknown>(), public left = 0) {}
  put(name: string, value: unknown) {
    this.names.set(name, value);
    return this;
  }
}

const isSame = (one: unknown, other: unknown, without: string[] = []) =>
  Buffer.compare(reachable(one, without), reachable(other, without)) === 0;

test("different values have different encodings", () => {
  const [shared, same, round] = [new Kept(), new Kept(), new Kept()];
  round.next = round;
  const pairs: Record<string, [unknown, unknown]> = {
    numbers: [new Kept([1]), new Kept([2])],
    lengths: [[[1], []], [[], [1]]],
    "undefined and null": [[undefined], [null]],
    "what is there and what is not": [{ a: undefined }, {}],
    types: [[1, "1"], ["1", 1]],
    "signs of zero": [0, -0],
    borders: [["a", "bc"], ["ab", "c"]],
    "private properties": [new Kept().put("a", 1), new Kept().put("a", 2)],
    "orders of a map": [new Map([[1, 2], [3, 4]]), new Map([[3, 4], [1, 2]])],
    "maps and sets": [new Map(), new Set()],
    classes: [new Kept(), { ...new Kept() }],
    functions: [Kept.prototype.put, isSame],
    bytes: [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    "parts of a buffer": [new Uint8Array(new ArrayBuffer(4), 0, 2), new Uint8Array(new ArrayBuffer(4), 1, 2)],
    dates: [new Date(1), new Date(2)],
    "one and two of the same": [[shared, shared], [shared, same]],
    "a circle and its unrolled start": [round, Object.assign(new Kept(), { next: round })],
    bigints: [1n, 1],
  };
  for (const [what, [one, other]] of Object.entries(pairs)) {
    assert.ok(!isSame(one, other), what);
    assert.ok(isSame(one, one) && isSame(other, other), what);
  }
});

test("equal values have equal encodings", () => {
  const made = () => {
    const kept = new Kept([1]).put("a", { deep: [new Set([1]), new Error("x"), /x/g] });
    kept.next = kept;
    return kept;
  };
  assert.ok(isSame(made(), made()));
  assert.ok(isSame(new Kept([], new Map(), 1), new Kept([], new Map(), 2), ["Kept.left"]));
});

test("what has no encoding is refused", () => {
  for (const value of [Promise.resolve(), new WeakMap(), (function* () {})()]) {
    assert.throws(() => reachable({ value }), TypeError);
  }
});

test("ready-made properties hold", () => {
  // The engine hands over null for a view that is none.
  assert.equal(ready.oneLeaderPerTerm([null, 1, null]), undefined);
  assert.equal(ready.replicasConverge([null, 3, undefined]), undefined);
  assert.equal(ready.oneLeaderPerTerm([1, undefined, 2]), undefined);
  assert.equal(ready.logsAgree([["a"], undefined, ["a", "b"]]), undefined);
  const kept = [{ acknowledged: ["a"], stored: ["a"] }, { acknowledged: [], stored: ["a"] }, undefined];
  assert.equal(ready.acknowledgedIsDurable(kept), undefined);
  const logs = [{ entries: ["a", "b"], committed: 1 }, { entries: ["a"], committed: 0 }, undefined];
  assert.equal(ready.committedIsOnAMajority(logs), undefined);
  assert.equal(ready.replicasConverge([3, undefined, 3]), undefined);
});

test("ready-made properties say why they do not hold", () => {
  assert.equal(ready.oneLeaderPerTerm([1, undefined, 1]), "nodes 0 and 2 both lead in term 1");
  assert.equal(ready.logsAgree([["a", "b"], ["a", "c"]]), "nodes 0 and 1 have different entries at 2");
  const kept = [{ acknowledged: ["a"], stored: ["a"] }, { acknowledged: [], stored: [] }, undefined];
  assert.equal(ready.acknowledgedIsDurable(kept), '"a" was acknowledged, and 1 of 3 nodes have it');
  const logs = [{ entries: ["a", "b"], committed: 2 }, { entries: ["a"], committed: 0 }, { entries: ["a", "c"], committed: 1 }];
  assert.equal(ready.committedIsOnAMajority(logs), "node 0 has committed entry 2, and 1 of 3 nodes have it");
  assert.equal(ready.replicasConverge([3, 4]), "nodes 0 and 1 have different values");
});

test("tables have their entries in order", () => {
  const stored = new Stored();
  const counts = new Table<number, number>(stored, "numbers", numbers);
  const words = new Table<string, string>(stored, "number", texts);
  // More than one call of the host returns, and bytes whose order differs from that of digits.
  const hundreds = Array.from({ length: 20 }, (_, nth) => 100 * nth);
  for (const key of hundreds) counts.put(key, key / 100);
  const names = ["b", "a", "a\0", "", "a\0\x7f", "a\x01", "a\0ÿ", "ÿ"];
  for (const name of names) words.put(name, `value of ${name}`);
  const keys = (first?: number, last?: number) => [...counts.range(first, last)].map(([key]) => key);
  assert.deepEqual([...counts.range()], hundreds.map((key) => [key, key / 100]));
  assert.deepEqual([...words.range()], names.sort().map((name) => [name, `value of ${name}`]));
  assert.deepEqual([words.first(), words.last()], [["", "value of "], ["ÿ", "value of ÿ"]]);
  counts.deleteRange(100, 500);
  counts.deleteRange(1800);
  counts.delete(700);
  counts.delete(701);
  assert.deepEqual(keys(), hundreds.filter((key) => key === 0 || key === 600 || (key >= 800 && key <= 1700)));
  assert.deepEqual([keys(600, 900), keys(undefined, 600)], [[600, 800, 900], [0, 600]]);
  assert.deepEqual([counts.get(600), counts.get(100), counts.get(0)], [6, undefined, 0]);
  counts.put(2 ** 53 - 1, 5);
  assert.deepEqual(counts.last(), [2 ** 53 - 1, 5]);
  assert.throws(() => counts.put(2 ** 53, 5), /is no key/);
  counts.deleteRange();
  assert.deepEqual([counts.first(), counts.last(), [...words.range()].length], [undefined, undefined, names.length]);
});
