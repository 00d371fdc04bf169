// What the host calls, by the plain names of the contract; `host build` gives them their full ones. Every protocol can use this
// file: only the import of "./register" is about this one.

import * as abi from "./abi";
import * as protocol from "./register";

export { cabi_realloc } from "./abi";

export function init(
  self: u32, nodes: u32, config: usize, configLength: usize, hasDurable: u32, durable: usize, durableLength: usize,
): usize {
  const error = protocol.init(self, nodes, abi.assignments(abi.text(config, configLength)));
  return abi.givenStart(error ? [] : protocol.begin(), error);
}

export function handleMessage(src: u32, message: usize, length: usize): usize {
  return abi.givenEnvelopes(protocol.handleMessage(src, abi.text(message, length)));
}

export function localEvents(): usize {
  return abi.givenLocalEvents(protocol.localEvents());
}

export function handleLocal(name: usize, nameLength: usize, kind: u32, payload: usize, payloadLength: usize): usize {
  const event = new abi.LocalEvent(abi.text(name, nameLength), kind, abi.text(payload, payloadLength));
  return abi.givenEnvelopes(protocol.handleLocal(event));
}

export function serialize(): usize {
  return abi.givenText(protocol.serialize());
}

export function properties(): usize {
  return abi.givenProperties(protocol.properties());
}

export function view(property: u32): usize {
  return abi.givenOptional(protocol.view(property));
}

export function invariant(property: u32, views: usize, length: usize): usize {
  return abi.givenOptional(protocol.invariant(property, abi.views(views, length)));
}

export function about(): usize {
  return abi.givenAbout(protocol.about());
}

export function cabi_post_init(at: usize): void { abi.release(); }
export function cabi_post_handleMessage(at: usize): void { abi.release(); }
export function cabi_post_localEvents(at: usize): void { abi.release(); }
export function cabi_post_handleLocal(at: usize): void { abi.release(); }
export function cabi_post_serialize(at: usize): void { abi.release(); }
export function cabi_post_properties(at: usize): void { abi.release(); }
export function cabi_post_view(at: usize): void { abi.release(); }
export function cabi_post_invariant(at: usize): void { abi.release(); }
export function cabi_post_about(at: usize): void { abi.release(); }
