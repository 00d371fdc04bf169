// How values cross the border of the component: the canonical ABI for the contract in wit/protocol.wit. Every protocol can use
// this file as it is.

/** A message on its way out of a handler; the content is a text, canonical JSON by convention. */
export class Envelope {
  constructor(public to: u32, public message: string) {}
}

export const enum LocalKind { Timer, Application, Internal }

/** Something that can happen to this node without a message. */
export class LocalEvent {
  constructor(public name: string, public kind: LocalKind, public payload: string) {}
}

export const enum PropertyKind { Always, Sometimes, Eventually }
export const enum PropertyScope { Node, System }

export class Property {
  constructor(public name: string, public kind: PropertyKind, public scope: PropertyScope) {}
}

export class Parameter {
  constructor(public name: string, public defaultValue: string, public meaning: string) {}
}

/** What the plugin says about itself; the network is unordered. */
export class About {
  constructor(
    public name: string, public version: string, public summary: string,
    public nodes: u32, public parameters: Parameter[],
  ) {}
}

/** Nondeterminism inside a handler: the host explores every answer below `alternatives`. */
// @ts-ignore: decorator
@external("host:protocol/environment@0.1.0", "choose")
export declare function choose(alternatives: u32): u32;

/** Whether the transport takes a message now: ask before it is returned, and do not return one that was refused. */
// @ts-ignore: decorator
@external("host:protocol/environment@0.1.0", "can-send")
export declare function canSend(to: u32): bool;

// @ts-ignore: decorator
@external("host:protocol/odds@0.1.0", "choose-weighted")
declare function hostChooseWeighted(at: usize, length: usize): u32;

/** As choose, with an answer for each weight; a random walk draws answers in proportion to their weights. */
export function chooseWeighted(weights: StaticArray<u32>): u32 {
  return hostChooseWeighted(changetype<usize>(weights), <usize>weights.length);
}

// @ts-ignore: decorator
@external("host:protocol/environment@0.1.0", "log")
declare function hostLog(at: usize, length: usize): void;

/** A line for people; only in init, handleMessage and handleLocal. */
export function log(line: string): void {
  const bytes = String.UTF8.encode(line);
  hostLog(changetype<usize>(bytes), <usize>bytes.byteLength);
}

/** Called by the compiler where the program fails; the host quotes the line. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const what = message ? message : "aborted";
  const where = file ? file : "?";
  log(`panic: ${what} (${where}:${line.toString()})`);
  unreachable();
}

// ---- memory: what the host passes and what it is given lives until it has read the result

const blocks: usize[] = [];

function room(size: usize): usize {
  if (!size) return 8;
  const at = heap.alloc(size);
  blocks.push(at);
  return at;
}

/** Where the host asks for room for arguments. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  const at = room(size);
  if (oldSize) memory.copy(at, old, min(oldSize, size));
  return at;
}

/** After the host has read a result: nothing of this call is needed any more. */
export function release(): void {
  for (let i = 0; i < blocks.length; i++) heap.free(blocks[i]);
  blocks.length = 0;
  __collect();
}

export function text(at: usize, length: usize): string {
  return String.UTF8.decodeUnsafe(at, length);
}

// Address and length of a text in UTF-8, at `field`.
function putText(field: usize, value: string): void {
  const length = <usize>String.UTF8.byteLength(value);
  const at = room(length);
  String.UTF8.encodeUnsafe(changetype<usize>(value), value.length, at);
  store<u32>(field, <u32>at);
  store<u32>(field, <u32>length, 4);
}

function putEnvelopes(field: usize, items: Envelope[]): void {
  const at = room(12 * items.length);
  for (let i = 0; i < items.length; i++) {
    store<u32>(at + 12 * i, items[i].to);
    putText(at + 12 * i + 4, items[i].message);
  }
  store<u32>(field, <u32>at);
  store<u32>(field, items.length, 4);
}

export function givenText(value: string): usize {
  const at = room(8);
  putText(at, value);
  return at;
}

export function givenEnvelopes(items: Envelope[]): usize {
  const at = room(8);
  putEnvelopes(at, items);
  return at;
}

/** `result<list<envelope>, string>` */
export function givenStart(items: Envelope[], error: string | null): usize {
  const at = room(12);
  store<u8>(at, error ? 1 : 0);
  if (error) putText(at + 4, error);
  else putEnvelopes(at + 4, items);
  return at;
}

/** `option<list<u8>>` as well as `result<_, string>` */
export function givenOptional(value: string | null): usize {
  const at = room(12);
  store<u8>(at, value ? 1 : 0);
  if (value) putText(at + 4, value);
  return at;
}

export function givenLocalEvents(items: LocalEvent[]): usize {
  const list = room(8);
  const at = room(20 * items.length);
  for (let i = 0; i < items.length; i++) {
    putText(at + 20 * i, items[i].name);
    store<u8>(at + 20 * i, <u8>items[i].kind, 8);
    putText(at + 20 * i + 12, items[i].payload);
  }
  store<u32>(list, <u32>at);
  store<u32>(list, items.length, 4);
  return list;
}

export function givenProperties(items: Property[]): usize {
  const list = room(8);
  const at = room(12 * items.length);
  for (let i = 0; i < items.length; i++) {
    putText(at + 12 * i, items[i].name);
    store<u8>(at + 12 * i, <u8>items[i].kind, 8);
    store<u8>(at + 12 * i, <u8>items[i].scope, 9);
  }
  store<u32>(list, <u32>at);
  store<u32>(list, items.length, 4);
  return list;
}

export function givenAbout(about: About): usize {
  const at = room(40);
  putText(at, about.name);
  putText(at + 8, about.version);
  putText(at + 16, about.summary);
  store<u32>(at, about.nodes, 24);
  store<u8>(at, 0, 28);
  store<u8>(at, 0, 29);
  const parameters = room(24 * about.parameters.length);
  for (let i = 0; i < about.parameters.length; i++) {
    putText(parameters + 24 * i, about.parameters[i].name);
    putText(parameters + 24 * i + 8, about.parameters[i].defaultValue);
    putText(parameters + 24 * i + 16, about.parameters[i].meaning);
  }
  store<u32>(at, <u32>parameters, 32);
  store<u32>(at, about.parameters.length, 36);
  return at;
}

/** The views of all nodes: null where a node has none. */
export function views(at: usize, length: usize): Array<string | null> {
  const views = new Array<string | null>(<i32>length);
  for (let i: usize = 0; i < length; i++) {
    const view = at + 12 * i;
    views[<i32>i] = load<u8>(view) ? text(load<u32>(view, 4), load<u32>(view, 8)) : null;
  }
  return views;
}

/** The configuration, `key=value` on each line. */
export function assignments(config: string): Map<string, string> {
  const found = new Map<string, string>();
  const lines = config.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const sign = lines[i].indexOf("=");
    if (sign > 0) found.set(lines[i].substring(0, sign), lines[i].substring(sign + 1));
  }
  return found;
}
