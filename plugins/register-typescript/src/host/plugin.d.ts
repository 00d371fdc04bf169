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
  view(property: number): Uint8Array | undefined;
  /** Throws a string that says why the property does not hold. */
  invariant(property: number, views: (Uint8Array | undefined)[]): void;
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
