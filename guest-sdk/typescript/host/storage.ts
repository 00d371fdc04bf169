// The durable map of a node as tables: entries in the order of their keys.
//
// A write costs as much as the change, and `init` finds the entries after a reset; they need not be in what `serialize` returns. Tables
// with other names share nothing. Handlers write; other functions of a node can read.
//
//   import * as storage from "host:protocol/storage@0.1.0";
//
//   const entries = new Table<number, Json>(storage, "entries", numbers);
//
// `sync` of "host:protocol/durability@0.1.0" makes all writes so far durable before the messages of a handler leave. A plugin that calls
// it anywhere decides itself what is durable: a power outage can lose the writes after the last call, those of whole handlers, the latest
// first. Where a plugin never calls it, each handler is durable as a whole.

import { decode, encode, textOf, utf8 } from "./json";
import type { Encodable } from "./json";

/** The module `storage` of the host, or a `Stored` in a test. */
export interface DurableMap {
  get(key: Uint8Array): Uint8Array | null | undefined;
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  deleteRange(start: Uint8Array, end: Uint8Array | undefined): void;
  range(start: Uint8Array, end: Uint8Array | undefined, order: Order, limit: number): Entry[];
}

type Order = "ascending" | "descending";

interface Entry {
  key: Uint8Array;
  value: Uint8Array;
}

/** A type of keys. The bytes have the order of the keys, and none is the beginning of others: they are those of the other SDKs. */
export interface Keys<K> {
  write(key: K): number[];
  /** Throws for bytes that are no key. */
  read(bytes: Uint8Array): K;
}

/** Integers from 0 to 2^53 - 1, in 64 bits. */
export const numbers: Keys<number> = {
  write(key) {
    if (!Number.isSafeInteger(key) || key < 0) throw new Error(`${key} is no key`);
    const bytes: number[] = [];
    for (let rest = key; bytes.length < 8; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
    return bytes;
  },
  read(bytes) {
    const key = bytes.reduce((number, byte) => number * 256 + byte, 0);
    if (bytes.length !== 8 || !Number.isSafeInteger(key)) throw new Error("the table has keys of another type");
    return key;
  },
};

/** Text, in the order of its bytes as UTF-8. */
export const texts: Keys<string> = {
  write: (key) => [...[...utf8(key)].flatMap((byte) => (byte === 0 ? [0, 255] : [byte])), 0, 0],
  read(bytes) {
    const { length } = bytes;
    if (length < 2 || bytes[length - 1] !== 0 || bytes[length - 2] !== 0) {
      throw new Error("the table has keys of another type");
    }
    // A zero byte of the text has 255 behind it.
    const rest = bytes.subarray(0, length - 2);
    return textOf(rest.filter((byte, at) => byte !== 255 || rest[at - 1] !== 0));
  },
};

/** Entries that one call of the host returns. */
const page = 8;

/** A part of the durable map. A range includes both of its ends; one that is undefined is open. */
export class Table<K, V extends Encodable> {
  /** The name, which a byte below all others separates from the key; and the least key behind those of the table. */
  private readonly prefix: number[];
  private readonly end: Uint8Array;

  constructor(
    private readonly map: DurableMap,
    name: string,
    private readonly keys: Keys<K>,
  ) {
    if (name.includes("\0")) throw new Error("the name of a table has no zero byte");
    this.prefix = [...utf8(name), 0];
    this.end = Uint8Array.of(...utf8(name), 1);
  }

  /** The value of a key. */
  get(key: K): V | undefined {
    const value = this.map.get(this.bytes(key));
    return value ? decode<V>(value) : undefined;
  }

  /** Sets the value of a key, written as JSON. */
  put(key: K, value: V): void {
    this.map.put(this.bytes(key), encode(value));
  }

  /** Removes a key, if it is there. */
  delete(key: K): void {
    this.map.delete(this.bytes(key));
  }

  /** Removes the keys in a range. */
  deleteRange(first?: K, last?: K): void {
    this.map.deleteRange(...this.bounds(first, last));
  }

  /** The entries in a range, read some at a time, so a write in between shows in later reads only. */
  *range(first?: K, last?: K): Generator<[K, V]> {
    let [start, end] = this.bounds(first, last);
    for (;;) {
      const entries = this.map.range(start, end, "ascending", page);
      for (const entry of entries) yield this.entry(entry);
      const latest = entries[page - 1];
      if (!latest) return;
      start = Uint8Array.of(...latest.key, 0);
    }
  }

  /** The entry with the least key. */
  first(): [K, V] | undefined {
    return this.endOf("ascending");
  }

  /** The entry with the greatest key. */
  last(): [K, V] | undefined {
    return this.endOf("descending");
  }

  private endOf(order: Order): [K, V] | undefined {
    const [entry] = this.map.range(Uint8Array.from(this.prefix), this.end, order, 1);
    return entry && this.entry(entry);
  }

  private entry({ key, value }: Entry): [K, V] {
    return [this.keys.read(key.subarray(this.prefix.length)), decode<V>(value)];
  }

  private bytes(key: K): Uint8Array {
    return Uint8Array.of(...this.prefix, ...this.keys.write(key));
  }

  private bounds(first: K | undefined, last: K | undefined): [Uint8Array, Uint8Array] {
    const start = first === undefined ? Uint8Array.from(this.prefix) : this.bytes(first);
    return [start, last === undefined ? this.end : Uint8Array.of(...this.bytes(last), 0)];
  }
}

/** A durable map in a test, of one node. */
export class Stored implements DurableMap {
  private entries: Entry[] = [];

  get(key: Uint8Array): Uint8Array | undefined {
    return this.entries.find((entry) => compared(entry.key, key) === 0)?.value;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.delete(key);
    this.entries.push({ key, value });
    this.entries.sort((one, other) => compared(one.key, other.key));
  }

  delete(key: Uint8Array): void {
    this.entries = this.entries.filter((entry) => compared(entry.key, key) !== 0);
  }

  deleteRange(start: Uint8Array, end: Uint8Array | undefined): void {
    this.entries = this.entries.filter((entry) => !within(entry.key, start, end));
  }

  range(start: Uint8Array, end: Uint8Array | undefined, order: Order, limit: number): Entry[] {
    const entries = this.entries.filter((entry) => within(entry.key, start, end));
    return (order === "ascending" ? entries : entries.reverse()).slice(0, limit);
  }
}

function within(key: Uint8Array, start: Uint8Array, end: Uint8Array | undefined): boolean {
  return compared(key, start) >= 0 && (end === undefined || compared(key, end) < 0);
}

function compared(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, place) => byte !== other[place]);
  if (at < 0) return one.length - other.length;
  return at < other.length ? one[at]! - other[at]! : 1;
}
