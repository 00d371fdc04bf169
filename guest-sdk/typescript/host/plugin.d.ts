// What the host and a plugin say to each other: the contract in wit/protocol.wit, as the bindings of componentize-qjs have it.

declare module "host:protocol/environment@0.1.0" {
  /** Nondeterminism inside a handler: the host explores every answer below `alternatives`. */
  export function choose(alternatives: number): number;
  /** Whether the transport takes a message now: ask before it is returned, and do not return one that was refused. */
  export function canSend(to: number): boolean;
  /** A line for people; only in init, handleMessage and handleLocal. */
  export function log(line: string): void;
}

declare module "host:protocol/odds@0.1.0" {
  /** As choose, with an answer for each weight; a random walk draws answers in proportion to their weights. */
  export function chooseWeighted(weights: Uint32Array): number;
}

declare module "host:protocol/live@0.1.0" {
  /** Answers the request of this number, at any time; dropped where nobody waits for it, as in a search. */
  export function answer(number: number, content: Response): void;
  /** The local events of this name wait anew: their durations are drawn again in the state that the handler leads to. */
  export function restart(name: string): void;
}

declare module "host:protocol/storage@0.1.0" {
  /** An entry of the durable map. */
  interface Entry {
    key: Uint8Array;
    value: Uint8Array;
  }
  /** The durable map of the node, in the order of the bytes of its keys. `Table` of storage.ts gives it types. */
  export function get(key: Uint8Array): Uint8Array | undefined;
  /** Sets the value of a key; only in init, handleMessage and handleLocal, like the next two. */
  export function put(key: Uint8Array, value: Uint8Array): void;
  /** Removes a key, if it is there. */
  function remove(key: Uint8Array): void;
  export { remove as delete };
  /** Removes all keys from `start` on and before `end`. */
  export function deleteRange(start: Uint8Array, end: Uint8Array | undefined): void;
  /** The first entries, in this order, of those from `start` on and before `end`, at most `limit` of them. */
  export function range(
    start: Uint8Array,
    end: Uint8Array | undefined,
    order: "ascending" | "descending",
    limit: number,
  ): Entry[];
}

declare module "host:protocol/durability@0.1.0" {
  /** Makes all writes so far durable before the messages of this handler leave; only in init, handleMessage and handleLocal. */
  export function sync(): void;
}

/** A message on its way out of a handler. */
interface Envelope {
  to: number;
  message: Uint8Array;
}

/** Something that can happen to this node without a message. */
interface LocalEvent {
  name: string;
  kind: "timer" | "application" | "internal";
  payload: Uint8Array;
}

interface Property {
  name: string;
  kind: "always" | "sometimes" | "eventually";
  scope: "node" | "system";
}

/** The export `node`. */
interface Node {
  /** Throws a string that names the key that it does not know. */
  init(self: number, clusterSize: number, config: string, durable: Uint8Array | undefined): Envelope[];
  handleMessage(src: number, message: Uint8Array): Envelope[];
  localEvents(): LocalEvent[];
  handleLocal(event: LocalEvent): Envelope[];
  serialize(): Uint8Array;
}

/** The export `specification`. */
interface Specification {
  properties(): Property[];
  /** What the property reads; undefined where this node cannot matter to it, and then it owes nothing. */
  view(property: number): Uint8Array | undefined;
  /** Throws a string that says why the property does not hold. The view of a node that cannot matter is null. */
  invariant(property: number, views: (Uint8Array | null | undefined)[]): void;
}

/** The export `defaults`; optional. */
interface Defaults {
  about(): {
    name: string;
    version: string;
    summary: string;
    nodes: number;
    network: "unordered" | "unordered-duplicating" | "ordered";
    identity: "serialized" | "memory";
    parameters: { name: string; defaultValue: string; meaning: string }[];
  };
}

/** The export `describe`; optional. What is JSON describes itself. */
interface Describe {
  /** The state as one JSON value, for people. */
  state(): string;
  /** A message as one JSON value, for people; also bytes that are none. */
  message(message: Uint8Array): string;
}

/** The export `events`; optional. A payload that is JSON or text describes itself. */
interface Events {
  /** What a local event is about as one JSON value, for people; also bytes that are none. Reads nothing but its argument. */
  describeLocal(event: LocalEvent): string;
}

/** The export `names`; optional. */
interface Names {
  /** What people call this node, such as `client 1`; undefined for its number. */
  nodeName(): string | undefined;
}

/** A range of durations from which a node draws, in microseconds. */
interface Span {
  shortest: number;
  longest: number;
}

/** The export `timing`; optional. */
interface Timing {
  /** How long an event that `localEvents` lists waits where the protocol runs; undefined is as long as the host says for its kind. */
  duration(event: LocalEvent): Span | undefined;
}

/** What a client asks, in the terms of HTTP. The path begins with `/`; what follows a `?` is part of it. */
interface Request {
  method: string;
  path: string;
  body: Uint8Array;
}

/** What a client gets: a status of HTTP from 200 to 599, a content, and the node that it should ask instead. */
interface Response {
  status: number;
  body: Uint8Array;
  ask: number | undefined;
}

/** The export `clients`; optional. `served` of running.ts makes it. */
interface Clients {
  /** Throws a Response for an answer at once. */
  accept(number: number, request: Request): LocalEvent;
}

/** The export `neighbourhood`; optional. */
interface Neighbourhood {
  /**
   * The nodes whose states matter to what this node does next, such as those that it may soon send to or hear from; undefined is all
   * nodes. A checker beside the node looks ahead from the states of these alone: further, and past what takes another node. A property
   * of all nodes then has no view of the others.
   */
  neighbours(): number[] | undefined;
}
