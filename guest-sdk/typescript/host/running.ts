// What matters only where a protocol runs, with clients and in time: durations, requests, answers and neighbours. A search
// ignores it.
//
// A plugin has it by three exports and by what the host offers, all optional:
//
//   import * as live from "host:protocol/live@0.1.0";
//
//   export const timing: Timing = {
//     duration: (event) => (event.name === "timeout" ? milliseconds(150, 300) : undefined),
//   };
//   export const clients = served((number, request) => response(404));
//   export const neighbourhood: Neighbourhood = { neighbours: () => [leader] };

import { utf8 } from "./json";

/** The module `live` of the host, or what stands for it in a test. Handlers call it; it has no influence on anything. */
export interface Live {
  answer(number: number, content: Response): void;
  restart(name: string): void;
}

/** A range of durations; of one number, exactly that long. */
export function milliseconds(shortest: number, longest = shortest): Span {
  return { shortest: Math.round(1000 * shortest), longest: Math.round(1000 * longest) };
}

/**
 * The export `clients`: the local event that a request becomes, which `localEvents` need not list, or an answer at once. No other request
 * to this node has its number; `answer` answers it, at any time, or never.
 *
 * A search knows no requests: `localEvents` lists what they become, as calls of the application.
 */
export function served(accept: (number: number, request: Request) => LocalEvent | Response): Clients {
  return {
    accept(number, request) {
      // Beyond 2^53, after 8,191 starts of a node, one number would stand for several requests.
      const isOne = Number.isSafeInteger(number);
      const accepted = isOne ? accept(number, request) : response(503, "this node was started too often\n");
      if ("status" in accepted) throw accepted;
      return accepted;
    },
  };
}

/** What a client gets: a status of HTTP from 200 to 599, and a content. */
export function response(status: number, body: string | Uint8Array = ""): Response {
  return { status, body: typeof body === "string" ? utf8(body) : body, ask: undefined };
}

/** Sends a client to another node, by the status 307: it asks the same there. */
export function ask(node: number): Response {
  return { ...response(307), ask: node };
}
