// Carries out what the parameter `script` lists, by the SDK, and has the results as its state; see ../sdk.rs.

import { choose } from "host:protocol/environment@0.1.0";

import { Clock } from "./host/clock";
import { decode, encode, type Encodable } from "./host/json";
import * as lin from "./host/linearizability";
import { declare, flag, number, oneOf, text } from "./host/parameters";
import { TimedTimers, Timers } from "./host/timers";

const parameters = declare({
  script: text("[]", "what to carry out"),
  retries: number(3, "how often"),
  mode: oneOf(["safe", "fast"], "what to prefer"),
  "give-up": flag(false, "whether to give up"),
});

type RegisterHistory = lin.History<lin.RegisterCall, lin.RegisterReturn>;
type LogHistory = lin.History<lin.LogCall, lin.LogReturn>;

let state: Encodable = null;

function after(history: RegisterHistory): Encodable {
  const { clients } = decode<lin.Clients<lin.RegisterCall, lin.RegisterReturn>>(encode(history));
  return Object.fromEntries(Object.entries(clients).map(([client, all]) => [client, all.map((one) => one.after)]));
}

function carriedOut(script: any[][]): Encodable {
  const [clock, timers, timed, said] = [new Clock(), new Timers(), new TimedTimers(), [] as Encodable[]];
  const register: RegisterHistory = new lin.History();
  const log: LogHistory = new lin.History();
  const clients = [0, 1, 2].map((client) => new lin.Client<lin.RegisterCall, lin.RegisterReturn>(client));
  const called = (client: number, call: lin.RegisterCall) => {
    register.call(client, call);
    clients[client]!.call(call);
  };
  const returned = (client: number, result: lin.RegisterReturn) => {
    register.returned(client, result);
    const completed = clients[client]!.returned(result);
    clients.forEach((one) => one.learn(client, completed));
  };
  for (const [name, one, other, by] of script) {
    if (name === "read") clock.read(one);
    if (name === "forget") said.push(clock.forget(one));
    if (name === "passed") said.push(clock.hasPassed(choose, one, other));
    if (name === "later") said.push(clock.isLater(choose, one, other, by));
    if (name === "arm") timed.set(one, other);
    if (name === "disarm") said.push(timed.cancel(one));
    if (name === "fire") {
      const due = timed.due();
      said.push(due);
      if (due.length > 0) timed.fired(due[one % due.length]!);
    }
    if (name === "set") timers.set(one);
    if (name === "cancel") said.push(timers.cancel(one));
    if (name === "fired") timers.fired(one);
    if (name === "call-list") log.call(one, lin.READ);
    if (name === "call-append") log.call(one, lin.append(other));
    if (name === "return-entries") log.returned(one, { kind: "entries", entries: other });
    if (name === "return-appended") log.returned(one, { kind: "appended", place: other });
    if (name === "call-read") called(one, lin.READ);
    if (name === "call-write") called(one, lin.write(other));
    if (name === "return-value") returned(one, lin.value(other));
    if (name === "return-written") returned(one, lin.WRITTEN);
  }
  const views = clients.map((client) => decode<{ operations: typeof client.operations }>(encode(client)).operations);
  const together: RegisterHistory = lin.History.of(views.map((operations, client) => [client, operations]));
  return {
    after: after(register),
    "after-together": after(together),
    clock,
    log: lin.History.from<lin.LogCall, lin.LogReturn>(decode(encode(log))).linearize(lin.log<number>()),
    register: lin.History.from<lin.RegisterCall, lin.RegisterReturn>(decode(encode(register))).linearize(lin.register(0)),
    said,
    timed,
    timers,
    together: together.linearize(lin.register(0)),
  };
}

export const node: Node = {
  init(self, clusterSize, config) {
    state = carriedOut(JSON.parse(parameters.read(config).script));
    return [];
  },
  handleMessage: () => [],
  localEvents: () => [],
  handleLocal: () => [],
  serialize: () => encode(state),
};

export const specification: Specification = { properties: () => [], view: () => undefined, invariant: () => {} };

export const defaults: Defaults = {
  about: () => ({
    name: "probe",
    version: "0.1.0",
    summary: "What the SDK makes of a script.",
    nodes: 1,
    network: "unordered",
    identity: "serialized",
    parameters: parameters.listed,
  }),
};
