// Asks for what a plugin has no system for, one thing per parameter; `tests/requests.rs` runs it.

let what = "console";
const answers: string[] = [];

const utf8 = (text: string) => Array.from(new TextEncoder().encode(text));

/** A library that asks without being asked. */
class Library {
  started = new Date();
  id = crypto.randomUUID();
}

function cloned() {
  const shared = { deep: [1, { two: 2n }] };
  const value = { shared, again: shared, map: new Map([["a", new Set([1])]]), at: new Date(7), bytes: new Uint8Array([1, 2]) };
  const copy = structuredClone(value);
  copy.map.get("a")!.add(2);
  const same = [copy.shared === copy.again, copy.shared !== shared, value.map.get("a")!.size, copy.at.getTime(), copy.bytes[1]];
  try {
    structuredClone({ f() {} });
  } catch (error) {
    same.push((error as Error).name as never);
  }
  return JSON.stringify(same);
}

const asks: Record<string, () => unknown> = {
  console: () => (console.log("one %d", 2, { three: new Map([[4, 5n]]) }), console.error(new Error("logged")), "logged"),
  "Date.now": () => Date.now(),
  "new Date": () => `${new Date().toISOString()} ${Date()} ${new Date(2001, 8, 9).getTime()} ${new Date() instanceof Date}`,
  "performance.now": () => performance.now(),
  "Math.random": () => Math.random(),
  "crypto.getRandomValues": () => Array.from(crypto.getRandomValues(new Uint32Array(2))),
  "crypto.randomUUID": () => crypto.randomUUID(),
  library: () => JSON.stringify(new Library()),
  TextEncoder: () => `${utf8("aé€😀\ud800")} ${new TextEncoder().encodeInto("é€", new Uint8Array(4)).read}`,
  TextDecoder: () => new TextDecoder().decode(Uint8Array.from([0xef, 0xbb, 0xbf, 97, ...utf8("é€😀"), 0xff, 0xe2, 0x82])),
  structuredClone: cloned,
  "process.env.NODE_ENV": () => process.env.NODE_ENV,
  Promise: () => {
    Promise.resolve("awaited").then((word) => answers.push(word));
  },
  await: async () => {
    const both = await Promise.all([1, Promise.resolve(2), new Promise<number>((resolve) => queueMicrotask(() => resolve(3)))]);
    const settled = await Promise.allSettled([Promise.reject(new Error("four"))]);
    const any = await Promise.any([Promise.reject(5), 6]).finally(() => both.push(7));
    for await (const each of (async function* () { yield 8; })()) both.push(each);
    return `${both} ${settled[0]!.status} ${any} ${await Promise.race([9, new Promise(() => 0)])}`;
  },
  setTimeout: () => setTimeout(() => 0, 1),
  setInterval: () => setInterval(() => 0, 1),
  fetch: () => fetch("http://127.0.0.1/"),
  WebSocket: () => new WebSocket("ws://127.0.0.1/"),
  Worker: () => new Worker("worker.js"),
  process: () => process.hrtime(),
  Buffer: () => Buffer.from("a"),
  "await for ever": () => new Promise(() => 0),
  "AbortController": () => new AbortController(),
};

declare const process: any, Buffer: any, WebSocket: any, Worker: any;

export const node = {
  init(self: number, clusterSize: number, config: string) {
    for (const line of config.split("\n").filter((line) => line)) {
      const at = line.indexOf("=");
      if (line.slice(0, at) !== "for" || !(line.slice(at + 1) in asks)) throw `no such request: ${line}`;
      what = line.slice(at + 1);
    }
    return [];
  },
  handleMessage() {
    return [];
  },
  localEvents() {
    return answers.length < 2 ? [{ name: "ask", kind: "application", payload: new Uint8Array() }] : [];
  },
  handleLocal() {
    const answer = asks[what]!();
    const kept = (answer: unknown) => (answer === undefined || answers.push(String(answer)), []);
    return answer instanceof Promise ? answer.then(kept) : kept(answer);
  },
  serialize() {
    return new TextEncoder().encode(JSON.stringify(answers));
  },
};

export const specification = {
  properties() {
    return [{ name: "answered", kind: "sometimes", scope: "node" }];
  },
  view() {
    return answers.length >= 2 ? new Uint8Array([1]) : undefined;
  },
  invariant() {},
};

export const describe = {
  state: () => JSON.stringify(answers),
  message: (message: Uint8Array) => JSON.stringify(Array.from(message)),
};

export const defaults = {
  about() {
    const parameters = [{ name: "for", defaultValue: "console", meaning: "what is asked for" }];
    const summary = "Asks for what a plugin has no system for.";
    const [name, version] = ["asks-the-system-in-typescript", "0.1.0"];
    return { name, version, summary, nodes: 2, network: "unordered", identity: "serialized", parameters };
  },
};
