// A register kept by a majority of the nodes: one node writes, another reads.
// Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
//
// All state is in the variables of this module: the host captures them with the memory.

import { About, Envelope, LocalEvent, LocalKind, Parameter, Property, PropertyKind, PropertyScope } from "./abi";
import * as json from "./json";

/** A value with the number of the write that it comes from. */
class Copy {
  constructor(public value: u32 = 0, public version: u32 = 0) {}

  toString(): string {
    return `{"value":${this.value},"version":${this.version}}`;
  }
}

// The configuration.
let me: u32 = 0;
let nodes: u32 = 0;
let writes: u32 = 1;
let reads: u32 = 2;
let bug: string = "none";

// What the node knows.
let acks: u32[] = [];
let best: Copy = new Copy();
let copy: Copy = new Copy();
let op: u32 = 0;
let phase: string = "idle";
let returned: u32[] = [];
let role: string = "replica";

export function init(self: u32, size: u32, config: Map<string, string>): string | null {
  const keys = config.keys();
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const value = config.get(key);
    if (key == "writes" || key == "reads") {
      const number = <u32>parseInt(value);
      if (number.toString() != value) return `${key} must be a number, not ${value}`;
      if (key == "writes") writes = number;
      else reads = number;
    } else if (key == "bug") {
      if (value != "none" && value != "no-write-back" && value != "one-ack") {
        return `bug is none, no-write-back or one-ack, not ${value}`;
      }
      bug = value;
    } else {
      return `unknown parameter: ${key}`;
    }
  }
  me = self;
  nodes = size;
  role = self == 0 ? "writer" : self + 1 == size ? "reader" : "replica";
  return null;
}

/** What the node sends first: nothing. */
export function begin(): Envelope[] {
  return [];
}

export function handleMessage(src: u32, message: string): Envelope[] {
  const kind = json.word(message, "kind");
  const number = json.field(message, "op");
  if (kind == "query") {
    const reply = `{"kind":"reply","op":${number},"value":${copy.value},"version":${copy.version}}`;
    return [new Envelope(src, reply)];
  }
  if (kind == "store") {
    const offered = copyOf(message);
    if (offered.version > copy.version) copy = offered;
    return [new Envelope(src, `{"kind":"stored","op":${number}}`)];
  }
  if (kind == "reply" && phase == "query" && number == op) {
    acknowledge(src);
    const found = copyOf(message);
    if (found.version > best.version) best = found;
    if (<u32>acks.length < quorum()) return [];
    if (bug != "no-write-back") return storeBest();
    finish();
  }
  if (kind == "stored" && phase == "store" && number == op) {
    acknowledge(src);
    if (<u32>acks.length >= quorum()) finish();
  }
  return [];
}

export function localEvents(): LocalEvent[] {
  if (phase != "idle") return [];
  if (role == "writer" && op < writes) return [new LocalEvent("write", LocalKind.Application, '"write"')];
  if (role == "reader" && op < reads) return [new LocalEvent("read", LocalKind.Application, '"read"')];
  return [];
}

export function handleLocal(event: LocalEvent): Envelope[] {
  op++;
  if (event.name == "write") {
    best = new Copy(100 + op, op);
    return storeBest();
  }
  phase = "query";
  return broadcast(`{"kind":"query","op":${op}}`);
}

export function serialize(): string {
  return `{"acks":${json.array(acks)},"best":${best.toString()},"copy":${copy.toString()},"op":${op},` +
    `"phase":"${phase}","returned":${json.array(returned)},"role":"${role}"}`;
}

export function properties(): Property[] {
  return [
    new Property("monotone", PropertyKind.Always, PropertyScope.Node),
    new Property("stored-by-majority", PropertyKind.Always, PropertyScope.System),
    new Property("write-is-read", PropertyKind.Sometimes, PropertyScope.Node),
  ];
}

export function view(property: u32): string | null {
  if (property == 0) return returned.length > 1 ? json.array(returned) : null;
  if (property == 1) {
    const complete = role != "writer" ? 0 : phase == "idle" ? op : op - 1;
    if (complete == 0 && copy.version == 0) return null;
    return `{"complete":${complete},"version":${copy.version}}`;
  }
  let newest: u32 = 0;
  for (let i = 0; i < returned.length; i++) newest = max(newest, returned[i]);
  return newest ? newest.toString() : null;
}

export function invariant(property: u32, views: Array<string | null>): string | null {
  if (property == 0) {
    const versions = json.numbers(views[0]!);
    for (let i = 1; i < versions.length; i++) {
      if (versions[i] < versions[i - 1]) return `a read returned version ${versions[i]} after ${versions[i - 1]}`;
    }
  }
  if (property == 1) {
    let complete: u32 = 0;
    for (let i = 0; i < views.length; i++) complete = max(complete, read(views[i], "complete"));
    let holders = 0;
    for (let i = 0; i < views.length; i++) if (read(views[i], "version") >= complete) holders++;
    if (holders <= views.length / 2) {
      return `write ${complete} is complete, and ${holders} of ${views.length} nodes have it`;
    }
  }
  return null;
}

export function about(): About {
  return new About("register-assemblyscript", "0.1.0", "A register kept by a majority, in AssemblyScript.", 3, [
    new Parameter("writes", "1", "how often node 0 writes"),
    new Parameter("reads", "2", "how often the last node reads"),
    new Parameter("bug", "none", "what is wrong on purpose (one of none, no-write-back, one-ack)"),
  ]);
}

function read(view: string | null, key: string): u32 {
  return view ? json.field(view, key) : 0;
}

function copyOf(message: string): Copy {
  return new Copy(json.field(message, "value"), json.field(message, "version"));
}

function quorum(): u32 {
  return bug == "one-ack" ? 1 : nodes / 2 + 1;
}

function acknowledge(from: u32): void {
  if (!acks.includes(from)) acks.push(from);
  acks.sort();
}

// Gives the best copy to everyone.
function storeBest(): Envelope[] {
  acks = [];
  phase = "store";
  return broadcast(`{"kind":"store","op":${op},"value":${best.value},"version":${best.version}}`);
}

// Ends the operation.
function finish(): void {
  if (role == "reader") returned.push(best.version);
  acks = [];
  best = new Copy();
  phase = "idle";
}

function broadcast(message: string): Envelope[] {
  const sent: Envelope[] = [];
  for (let node: u32 = 0; node < nodes; node++) sent.push(new Envelope(node, message));
  return sent;
}
