// Carries out what the parameter `script` lists, by the SDK, and has the results in its state, beside a store that clients ask; see
// ../sdk.rs.

import { canSend, choose } from "host:protocol/environment@0.1.0";
import * as live from "host:protocol/live@0.1.0";
import { chooseWeighted } from "host:protocol/odds@0.1.0";

import { Clock } from "./host/clock";
import { decode, encode, type Encodable } from "./host/json";
import * as lin from "./host/linearizability";
import { declare, flag, number, oneOf, text } from "./host/parameters";
import { served } from "./host/running";
import { TimedTimers, Timers } from "./host/timers";
import { type Event, type Sent, Store, wrong } from "./store";

const parameters = declare({
  script: text("[]", "the operations to execute"),
  retries: number(3, "how often"),
  mode: oneOf(["safe", "fast"], "what to prefer"),
  "give-up": flag(false, "whether to give up"),
  requests: number(1, "how often clients write in a search"),
  patience: number(500, "milliseconds without news after which a client may be asked to retry"),
});

type RegisterHistory = lin.History<lin.RegisterCall, lin.RegisterReturn>;
type LogHistory = lin.History<lin.LogCall, lin.LogReturn>;

let found: Encodable = null;
let store: Store;

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
    if (name === "weigh") said.push(chooseWeighted(new Uint32Array([one, other])));
    if (name === "can-send") said.push(canSend(one));
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

function envelopes(sent: Sent): Envelope[] {
  return sent.map(({ to, message }) => ({ to, message: encode(message) }));
}

function local({ name, argument }: Event): LocalEvent {
  return { name, kind: name === "put" ? "application" : "timer", payload: encode(argument) };
}

export const node: Node = {
  init(self, clusterSize, config) {
    const { script, ...settings } = parameters.read(config);
    found = carriedOut(JSON.parse(script));
    store = new Store(self, clusterSize, settings, live);
    return [];
  },
  handleMessage: (src, message) => envelopes(store.receive(src, decode(message))),
  localEvents: () => store.events().map(local),
  handleLocal: ({ name, payload }) => envelopes(store.happen({ name, argument: decode(payload) } as Event)),
  serialize: () => encode({ found, store: store.state }),
};

export const events: Events = {
  describeLocal({ name, payload }) {
    let about: Encodable = null;
    try {
      about = decode(payload);
    } catch {}
    return JSON.stringify({ about, name });
  },
};

export const timing: Timing = { duration: ({ name }) => store.duration(name) };

export const neighbourhood: Neighbourhood = { neighbours: () => store.neighbours() };

export const clients = served((number, request) => {
  const accepted = store.accept(number, request);
  return "status" in accepted ? accepted : local({ name: "put", argument: accepted });
});

export const specification: Specification = {
  properties: () => [{ name: "told-is-stored", kind: "always", scope: "system" }],
  view() {
    const view = store.view();
    return view && encode(view);
  },
  invariant(_, views) {
    const why = wrong(views.map((view) => view && decode(view)));
    if (why) throw why;
  },
};

export const defaults: Defaults = {
  about: () => ({
    name: "probe",
    version: "0.1.0",
    summary: "What the SDK makes of a script, and a store.",
    nodes: 3,
    network: "unordered",
    identity: "serialized",
    parameters: parameters.listed,
  }),
};
