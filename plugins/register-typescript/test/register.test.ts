// npm install && npm test

import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode } from "../src/host/json";
import { type Message, parameters, Register } from "../src/register";

test("a write ends when a majority has stored it", () => {
  const writer = new Register(0, 3);
  assert.equal(writer.possible(), "write");
  assert.deepEqual(writer.begin("write"), [{ to: "all", message: { kind: "store", op: 1, value: 101, version: 1 } }]);
  const stored: Message = { kind: "stored", op: 1 };
  for (const _ of [1, 2]) {
    writer.receive(1, stored);
    assert.equal(writer.state.phase, "store", "one node is no majority of three");
  }
  writer.receive(2, stored);
  assert.equal(writer.state.phase, "idle");
});

test("a parameter that is not known is named", () => {
  assert.equal(parameters.read("reads=0").reads, 0);
  assert.throws(() => parameters.read("colour=red"), (error) => error === "there is no parameter colour; known are: writes, reads, bug");
});

test("the encoding is canonical", () => {
  const bytes = encode({ op: 1, kind: "query" });
  assert.equal(new TextDecoder().decode(bytes), '{"kind":"query","op":1}');
  assert.deepEqual(decode(bytes), { kind: "query", op: 1 });
});
