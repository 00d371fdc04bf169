// Unit tests, compiled like the plugin: npm install && npm test

import * as json from "../assembly/json";
import * as protocol from "../assembly/register";

/** A write ends when a majority has stored it. */
export function aWriteEnds(): void {
  assert(protocol.init(0, 3, new Map<string, string>()) === null, "the defaults can be used");
  const sent = protocol.handleLocal(protocol.localEvents()[0]);
  assert(sent.length == 3, "the value goes to every node");
  assert(sent[0].message == '{"kind":"store","op":1,"value":101,"version":1}', "the message is canonical");
  for (let i = 0; i < 2; i++) {
    protocol.handleMessage(1, '{"kind":"stored","op":1}');
    assert(json.word(protocol.serialize(), "phase") == "store", "one node is no majority of three");
  }
  protocol.handleMessage(2, '{"kind":"stored","op":1}');
  assert(json.word(protocol.serialize(), "phase") == "idle", "two nodes are a majority of three");
}

/** A parameter that is not known is named. */
export function unknownParameters(): void {
  const config = new Map<string, string>();
  config.set("colour", "red");
  assert(protocol.init(0, 3, config) == "unknown parameter: colour", "the message names it");
}
