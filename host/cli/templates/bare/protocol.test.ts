// npm install && npm test

import assert from "node:assert/strict";
import { test } from "node:test";

import { decode } from "../src/host/json";
import { node } from "../src/bare-protocol";

test("a greeting is heard", () => {
  const [sent] = node.init(2, 3, "", undefined);
  assert.equal(sent!.to, 0);
  node.handleMessage(1, sent!.message);
  assert.deepEqual(decode(node.serialize()), { heard: 1 });
});
