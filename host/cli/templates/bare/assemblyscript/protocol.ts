// Every node greets the next one, once.
//
// All state is in the variables of this module: the host captures them with the memory.

import { About, Envelope, LocalEvent, Property, PropertyKind, PropertyScope } from "./abi";

// The configuration.
let me: u32 = 0;
let nodes: u32 = 0;

// What the node knows: how many greetings it has heard.
let heard: u32 = 0;

export function init(self: u32, size: u32, config: Map<string, string>): string | null {
  if (config.size > 0) return `unknown parameter: ${config.keys()[0]}`;
  me = self;
  nodes = size;
  return null;
}

/** What the node sends first. */
export function begin(): Envelope[] {
  return [new Envelope((me + 1) % nodes, '"hello"')];
}

export function handleMessage(src: u32, message: string): Envelope[] {
  heard++;
  return [];
}

export function localEvents(): LocalEvent[] {
  return [];
}

export function handleLocal(event: LocalEvent): Envelope[] {
  return [];
}

export function serialize(): string {
  return `{"heard":${heard}}`;
}

export function properties(): Property[] {
  return [new Property("heard-once", PropertyKind.Always, PropertyScope.Node)];
}

export function view(property: u32): string | null {
  return heard.toString();
}

export function invariant(property: u32, views: Array<string | null>): string | null {
  const heard = <u32>parseInt(views[0]!);
  return heard > 1 ? `heard ${heard} greetings` : null;
}

export function about(): About {
  return new About("bare-protocol", "0.1.0", "Every node greets the next one.", 3, []);
}
