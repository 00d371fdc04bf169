// A store that clients ask: node 0 gives a value to all nodes, and answers when a majority has it.

import { textOf } from "./host/json";
import { ask, type Live, milliseconds, response } from "./host/running";

type Copy = { value: string; version: number };
type Put = { key: string; number: number; value: string };
type Write = { acks: number[]; key: string; number: number; version: number };
type Message = { kind: "store"; key: string; value: string; version: number } | { kind: "stored"; version: number };
type View = { copies: Record<string, number>; told: Record<string, number> };
export type Event = { name: "put"; argument: Put } | { name: "give-up"; argument: { version: number } };
export type Sent = { to: number; message: Message }[];

/** One node. `live` stands for the host. */
export class Store {
  readonly state = {
    /** How many writes have begun: the number of the last one. */
    asked: 0,
    copies: Object.create(null) as Record<string, Copy>,
    /** The latest write of each key that a client was told of. */
    told: Object.create(null) as Record<string, number>,
    waiting: [] as Write[],
  };

  constructor(
    readonly me: number,
    readonly nodes: number,
    readonly settings: { requests: number; patience: number },
    readonly live: Live,
  ) {}

  /** The write that a request becomes, or an answer at once. */
  accept(number: number, { method, path, body }: Request): Put | Response {
    const key = path.replace(/^\/+/, "");
    if (this.me !== 0) return ask(0);
    if (method === "GET") {
      const copy = this.state.copies[key];
      return copy ? response(200, copy.value) : response(404, "there is nothing here\n");
    }
    if (method !== "PUT") return response(405, "there are GET and PUT\n");
    try {
      return { key, number, value: textOf(body) };
    } catch {
      return response(400, "a value is text\n");
    }
  }

  /** What clients can ask in a search, and what ends the patience of those that wait. */
  events(): Event[] {
    const { asked, waiting } = this.state;
    const gone = waiting.map(({ version }): Event => ({ name: "give-up", argument: { version } }));
    if (this.me !== 0 || asked >= this.settings.requests) return gone;
    return [{ name: "put", argument: { key: "k", number: asked, value: `v${asked}` } }, ...gone];
  }

  duration(name: string): Span | undefined {
    return name === "give-up" ? milliseconds(this.settings.patience, 2 * this.settings.patience) : undefined;
  }

  /** Who has not acknowledged some write, or the leader; everybody where the next write goes to everybody. */
  neighbours(): number[] | undefined {
    if (this.me !== 0) return [0];
    const { waiting } = this.state;
    if (waiting.length === 0) return undefined;
    const all = Array.from({ length: this.nodes }, (_, node) => node);
    return all.filter((node) => waiting.some(({ acks }) => !acks.includes(node)));
  }

  happen(event: Event): Sent {
    const { state } = this;
    if (event.name === "give-up") {
      const write = this.taken(event.argument.version);
      this.live.answer(write.number, response(503, "too few nodes have it so far\n"));
      return [];
    }
    const { key, number, value } = event.argument;
    state.asked += 1;
    state.waiting.push({ acks: [], key, number, version: state.asked });
    const message: Message = { kind: "store", key, value, version: state.asked };
    return Array.from({ length: this.nodes }, (_, to) => ({ to, message }));
  }

  receive(from: number, message: Message): Sent {
    const { copies, told, waiting } = this.state;
    const { version } = message;
    if (message.kind === "store") {
      const { key, value } = message;
      if ((copies[key]?.version ?? 0) < version) copies[key] = { value, version };
      return [{ to: from, message: { kind: "stored", version } }];
    }
    const write = waiting.find((write) => write.version === version);
    if (!write) return [];
    write.acks = [...new Set([...write.acks, from])].sort((one, other) => one - other);
    if (write.acks.length <= Math.floor(this.nodes / 2)) {
      // There is news, so patience begins anew.
      this.live.restart("give-up");
      return [];
    }
    this.taken(version);
    told[write.key] = Math.max(told[write.key] ?? 0, version);
    this.live.answer(write.number, response(204));
    return [];
  }

  view(): View | undefined {
    const { copies, told } = this.state;
    const versions = Object.fromEntries(Object.entries(copies).map(([key, { version }]) => [key, version]));
    const isEmpty = Object.keys(versions).length + Object.keys(told).length === 0;
    return isEmpty ? undefined : { copies: versions, told };
  }

  /** Waits for a write no more. */
  private taken(version: number): Write {
    const place = this.state.waiting.findIndex((write) => write.version === version);
    return this.state.waiting.splice(place, 1)[0]!;
  }
}

/** What is wrong with the nodes: a client was told of a write, and a majority does not have it. */
export function wrong(views: (View | undefined)[]): string | undefined {
  const known = views.map((view) => view ?? { copies: {}, told: {} });
  for (const { told } of known) {
    for (const [key, version] of Object.entries(told)) {
      const holders = known.filter(({ copies }) => (copies[key] ?? 0) >= version).length;
      if (holders <= Math.floor(views.length / 2)) {
        return `write ${version} was acknowledged, and ${holders} of ${views.length} nodes have it`;
      }
    }
  }
  return undefined;
}
