// Unit tests, compiled like the plugin: npm install && npm test

import * as protocol from "../assembly/bare-protocol";

export function aGreetingIsHeard(): void {
  assert(protocol.init(2, 3, new Map<string, string>()) === null, "there are no parameters");
  const sent = protocol.begin();
  assert(sent[0].to == 0, "the next node is greeted");
  protocol.handleMessage(1, sent[0].message);
  assert(protocol.serialize() == '{"heard":1}', "the greeting is heard");
}
