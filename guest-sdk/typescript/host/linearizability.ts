// Linearizability of the operations of clients.
//
// Source: Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12(3), 1990. The search is
// that of Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17, 1993, with the memory of Lowe, "Testing for
// Linearizability", CCPE 29(4), 2017.
//
//   const history = new History<RegisterCall, RegisterReturn>();
//   history.call(0, write(7));
//   history.call(1, READ);
//   history.returned(1, value(7)); // The write has not returned, but it can have taken effect.
//   history.linearize(register(0));
//
// "Before" is about time, which no node sees. Either one node stands for all clients and keeps one `History`, or every node is a
// `Client` and tells the others when an operation is complete. docs/time-and-chance.md says why that is exact.

import { canonical, type Encodable, type Json } from "./json";

/** The behaviour of an object when nothing is concurrent. Deterministic. */
export interface SequentialObject<State, Call, Return> {
  /** The object before all operations. */
  readonly start: State;
  /** The next state and the result of an operation. The state that is given must not change. */
  apply(state: State, call: Call): [State, Return];
}

/** The client, and the number of the operation among those of the client, from 1. */
export type OperationId = [client: number, number: number];

/** An order that explains a history, or why there is none, with the longest beginning of one that explains its part. */
export type Linearization = { order: OperationId[] } | { why: string; longest: OperationId[] };

/** An operation of a client, as it is encoded. */
export interface Operation<Call, Return> {
  /** What had returned before the call: of each client the number of its first operations. */
  readonly after: Readonly<Record<string, number>>;
  readonly call: Call;
  /** Null if it did not return yet. */
  returned: Return | null;
}

/** A history, as it is encoded. */
export interface Clients<Call, Return> {
  clients: Record<string, Operation<Call, Return>[]>;
}

/**
 * The operations of some clients: of each client, in the order in which it called them. Calls and results are JSON values, and a
 * result is not null.
 *
 * Canonical: histories with the same operations and the same order between them have the same encoding.
 */
export class History<Call extends Json, Return extends Json> {
  private readonly clients = new Map<number, Operation<Call, Return>[]>();

  /** The history with this encoding, such as a decoded view. */
  static from<Call extends Json, Return extends Json>(encoded: Clients<Call, Return>): History<Call, Return> {
    return History.of(Object.entries(encoded.clients).map(([client, operations]) => [Number(client), operations]));
  }

  /** The history of clients that keep their operations by themselves, such as the views of nodes. */
  static of<Call extends Json, Return extends Json>(
    clients: [client: number, operations: Operation<Call, Return>[]][],
  ): History<Call, Return> {
    const history = new History<Call, Return>();
    for (const [client, operations] of clients) if (operations.length > 0) history.clients.set(client, operations);
    return history;
  }

  toJSON(): Encodable {
    return { clients: Object.fromEntries(this.clients) as unknown as Encodable };
  }

  /** A client calls an operation, after all that have returned. */
  call(client: number, call: Call): void {
    const operations = this.operations(client);
    checkFree(client, operations);
    const counts = [...this.clients].map(([other, operations]) => [other, completed(operations)] as const);
    const after = Object.fromEntries(counts.filter(([, count]) => count > 0));
    this.clients.set(client, [...operations, { after, call, returned: null }]);
  }

  /** The operation that a client has called last returns. */
  returned(client: number, result: Return): void {
    complete(client, this.operations(client), result);
  }

  /** Whether a client waits for the return of an operation. */
  isPending(client: number): boolean {
    return isPending(this.operations(client));
  }

  /** The operations of a client, in the order in which it called them. */
  operations(client: number): readonly Operation<Call, Return>[] {
    return this.clients.get(client) ?? [];
  }

  /** An order that explains the history, without those pending operations that need not have taken effect. */
  linearize<State extends Json>(object: SequentialObject<State, Call, Return>): Linearization {
    const clients = [...this.clients].sort(([one], [other]) => one - other);
    const places = new Map(clients.map(([name], place) => [String(name), place]));
    const goal = clients.map(([, operations]) => completed(operations));
    /** Whether a client has an operation left that comes after nothing else that is left. */
    const isMinimal = (done: number[], client: number) => {
      const operation = clients[client]![1][done[client]!];
      return operation !== undefined && Object.entries(operation.after).every(([other, count]) => {
        const place = places.get(other);
        return place === undefined || done[place]! >= Math.min(count, clients[place]![1].length);
      });
    };
    const key = (done: number[], state: State) => `${done.join()} ${canonical(state)}`;

    // How many operations of each client the order has, the object after it, the client that is tried next.
    type Node = { done: number[]; state: State; next: number };
    const path: Node[] = [{ done: clients.map(() => 0), state: object.start, next: 0 }];
    const seen = new Set([key(path[0]!.done, object.start)]);
    const order: OperationId[] = [];
    let longest: OperationId[] = [];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const { done, state } = node;
      if (done.every((one, client) => one >= goal[client]!)) return { order };
      while (node.next < clients.length && !isMinimal(done, node.next)) node.next += 1;
      if (node.next === clients.length) {
        path.pop();
        order.pop();
        continue;
      }
      const client = node.next++;
      const [name, operations] = clients[client]!;
      const operation = operations[done[client]!]!;
      const [after, result] = object.apply(state, operation.call);
      if (operation.returned !== null && canonical(operation.returned) !== canonical(result)) continue;
      const next = done.map((one, place) => (place === client ? one + 1 : one));
      if (seen.has(key(next, after))) continue;
      seen.add(key(next, after));
      order.push([name, next[client]!]);
      if (order.length > longest.length) longest = [...order];
      path.push({ done: next, state: after, next: 0 });
    }
    const shown = clients.flatMap(([name, all]) => all.map((operation, place) => show(name, place + 1, operation)));
    const end = longest.length > 0 ? `nothing fits after ${longest.map((id) => id.join(".")).join(", ")}` : "none can be the first";
    return { why: `no order of the operations explains what they returned: ${shown.join("; ")}; ${end}`, longest };
  }
}

/** The operations of one client that keeps them by itself, and what it has heard of the others. */
export class Client<Call extends Json, Return extends Json> {
  readonly operations: Operation<Call, Return>[] = [];
  private readonly known: Record<string, number> = {};

  constructor(readonly id: number) {}

  toJSON(): Encodable {
    return { id: this.id, known: this.known, operations: this.operations as unknown as Encodable };
  }

  /** Calls an operation, after all that this client knows to have returned. */
  call(call: Call): void {
    checkFree(this.id, this.operations);
    this.operations.push({ after: { ...this.known }, call, returned: null });
  }

  /** The last operation returns. The answer is how many have returned by now: tell it to all other clients, for `learn`. */
  returned(result: Return): number {
    complete(this.id, this.operations, result);
    return (this.known[this.id] = this.operations.length);
  }

  /** The first so many operations of another client have returned. News may arrive late, and twice. */
  learn(client: number, completed: number): void {
    this.known[client] = Math.max(completed, this.known[client] ?? 0);
  }

  /** Whether an operation did not return yet. */
  isPending(): boolean {
    return isPending(this.operations);
  }
}

type Operations = readonly Operation<Json, Json>[];

/** How many operations of a client have returned: all, or all but the last. */
function completed(operations: Operations): number {
  return operations.length - (isPending(operations) ? 1 : 0);
}

function isPending(operations: Operations): boolean {
  return operations.at(-1)?.returned === null;
}

function checkFree(client: number, operations: Operations): void {
  if (isPending(operations)) throw new Error(`client ${client} calls before its last operation has returned`);
}

function complete(client: number, operations: Operations, result: Json): void {
  if (result === null) throw new Error("the result of an operation is not null");
  if (!isPending(operations)) throw new Error(`client ${client} has no operation that could return`);
  operations.at(-1)!.returned = result;
}

function show(client: number, number: number, { after, call, returned }: Operation<Json, Json>): string {
  const end = returned === null ? "(pending)" : `-> ${canonical(returned)}`;
  // Keys that are numbers are in their order.
  const others = Object.entries(after).filter(([other]) => other !== String(client));
  const behind = others.length > 0 ? ` after ${others.map((id) => id.join(".")).join(", ")}` : "";
  return `${client}.${number} ${canonical(call)} ${end}${behind}`;
}

/** Calls and results of a register. */
export type RegisterCall<V extends Json = number> = "read" | { kind: "write"; value: V };
export type RegisterReturn<V extends Json = number> = "written" | { kind: "value"; value: V };

export const READ = "read";
export const WRITTEN = "written";
export const write = <V extends Json>(value: V) => ({ kind: "write", value }) as const;
/** The value that was read. */
export const value = <V extends Json>(value: V) => ({ kind: "value", value }) as const;

/** A register that holds this value at the start. */
export function register<V extends Json>(start: V): SequentialObject<V, RegisterCall<V>, RegisterReturn<V>> {
  return {
    start,
    apply: (state, call) => (call === READ ? [state, value(state)] : [(call as { value: V }).value, WRITTEN]),
  };
}

/** Calls and results of a log. */
export type LogCall<E extends Json = number> = "read" | { kind: "append"; entry: E };
export type LogReturn<E extends Json = number> = { kind: "appended"; place: number } | { kind: "entries"; entries: E[] };

export const append = <E extends Json>(entry: E) => ({ kind: "append", entry }) as const;

/** A log that is empty at the start and only grows. */
export function log<E extends Json>(): SequentialObject<E[], LogCall<E>, LogReturn<E>> {
  return {
    start: [],
    apply: (state, call) =>
      call === READ
        ? [state, { kind: "entries", entries: state }]
        : [[...state, (call as { entry: E }).entry], { kind: "appended", place: state.length }],
  };
}
