// A server with the API of `host explore` over a protocol of its own, to try the page without `host`.
// node test/mock.mjs [--port N] [--steps N] [--hostile] [--trace violation|promise]

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { follow, local, told, walk } from "./extras.mjs";
import { cluster, rows } from "./protocol.mjs";

const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../inspect/src/page/dist");
const TOKEN = "0123456789abcdef";
/** Values of a probe in one answer. */
const VALUES_MAX = 400;
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";

class Refusal extends Error {
  constructor(status, error, help = null) {
    super(error);
    this.status = status;
    this.help = help;
  }
}

/** Steps to two decisions, and steps around the decision that they could have led to. */
const TRACES = {
  violation: [
    ...["node 0: propose", "node 0 <- node 0: {Ask:100}", "node 1 <- node 0: {Ask:100}", "node 0 <- node 1: {Vote:100", "node 0 <- node 0: {Vote:100"],
    ...["node 1: propose", "node 0 <- node 1: {Ask:101}", "node 1 <- node 1: {Ask:101}", "node 1 <- node 1: {Vote:101", "node 1 <- node 0: {Vote:101"],
  ],
  promise: ["node 0: propose", "node 0: reset", "node 0: tick", "node 1: tick"],
};

export class Mock {
  constructor(options = {}) {
    this.options = options;
    this.cluster = cluster(options);
    this.places = [{ place: 0, parent: null, depth: 0, event: null, name: null, global: this.cluster.beginning(), children: new Map() }];
    this.probes = [];
    this.searches = [];
    /** No search ends. */
    this.isHeld = false;
    let place = 0;
    const ticks = Array.from({ length: options.steps ?? 0 }, (_, count) => count);
    for (const count of ticks) {
      const all = this.cluster.enabled(this.places[place].global);
      const deliveries = all.filter(({ run }) => run === "deliver");
      const timers = all.filter(({ run }) => run === "tick");
      const action = count % 2 === 1 && deliveries.length > 0 ? deliveries[0] : timers[count % timers.length];
      place = this.take(place, action.action, 0);
    }
    this.end = follow(this, place, TRACES[options.trace] ?? []);
    if (options.trace === "promise") this.kept = follow(this, this.line(this.end)[1], TRACES.violation.slice(1, 5));
  }

  /** A copy whose places are no branches of a person. */
  scratch() {
    return Object.assign(Object.create(Mock.prototype), this, { places: structuredClone(this.places) });
  }

  at(place) {
    const found = this.places[place];
    if (!found) throw new Refusal(404, `there is no place ${place}`, "It may be one of another session.");
    return found;
  }

  line(place) {
    const line = [];
    for (let at = place; at !== null; at = this.places[at].parent) line.unshift(at);
    return line;
  }

  step({ place, parent, depth, event, name }) {
    return { place, parent, depth, event, name, lines: this.lines(place) };
  }

  /** What a step did, in words. */
  lines(place) {
    const { event, parent, global } = this.places[place];
    if (!event) return ["all nodes are as their init left them"];
    const rowsOf = rows(global.locals[event.node], this.places[parent].global.locals[event.node]);
    const changes = rowsOf.filter(({ mark, value }) => mark !== "same" && value !== "").map(({ name, value }) => `${name} -> ${value}`);
    return [...changes, ...event.sent.map(({ to, text }) => `sends to ${to}: ${text}`)];
  }

  take(from, number, outcome) {
    const here = this.at(from);
    const key = `${number} ${outcome}`;
    if (here.children.has(key)) return here.children.get(key);
    const action = this.cluster.enabled(here.global)[number];
    if (!action || outcome >= action.outcomes.length) throw new Refusal(409, `event ${number} is not enabled`, "Another place may be shown.");
    const place = this.places.length;
    const { global, event } = this.cluster.step(here.global, action, outcome, place);
    this.places.push({ place, parent: from, depth: here.depth + 1, event, name: null, global, children: new Map() });
    here.children.set(key, place);
    return place;
  }

  state(place) {
    const here = this.at(place);
    const before = here.parent === null ? here.global : this.places[here.parent].global;
    return {
      step: this.step(here),
      children: [...here.children.values()].map((child) => this.step(this.places[child])),
      nodes: here.global.locals.map((local, node) => ({ rows: rows(local, before.locals[node]), stuck: null })),
      flight: here.global.flight.map(({ from, to, text, sent }) => ({ from, to, text, sent })),
      standings: this.cluster.standings(here.global),
      enabled: this.cluster.enabled(here.global).map(({ action, node, kind, text, outcomes }) => ({
        action,
        node,
        kind,
        text,
        outcomes: outcomes.map((text, outcome) => ({ outcome, text, child: here.children.get(`${action} ${outcome}`) ?? null })),
      })),
    };
  }

  preview(place, number, outcome) {
    const here = this.at(place);
    const action = this.cluster.enabled(here.global)[number];
    const { global, event } = this.cluster.step(here.global, action, outcome, -1);
    return {
      node: action.node,
      rows: rows(global.locals[action.node], here.global.locals[action.node]),
      sent: event.sent,
      standings: this.cluster.standings(global),
    };
  }

  diff(one, other) {
    const [mine, theirs] = [this.line(one), this.line(other)];
    let shared = 0;
    while (shared + 1 < mine.length && mine[shared + 1] === theirs[shared + 1]) shared += 1;
    const [before, after] = [this.at(one).global, this.at(other).global];
    const nodes = after.locals.map((local, node) => ({ node, rows: rows(local, before.locals[node]) }));
    return { shared, nodes: nodes.filter(({ rows }) => rows.some(({ mark }) => mark !== "same")) };
  }

  why(place, query) {
    if (query.has("message")) {
      const message = this.at(place).global.flight[Number(query.get("message"))];
      if (!message) throw new Refusal(404, "there is no such message in flight");
      return { text: `${message.text} is enabled: it can be delivered now.`, places: [message.sent] };
    }
    const words = query.get("event") ?? "";
    if (words === "") throw new Refusal(400, "no event is named", "Give words of its text.");
    return { text: `No event with the words "${words}" has happened here, and no message has them.`, places: [] };
  }

  writer(place, query) {
    const [node, keys] = [Number(query.get("node")), (query.get("path") ?? "").split(".")];
    const value = (at) => JSON.stringify(keys.reduce((value, key) => value?.[key], this.places[at].global.locals[node]));
    const line = this.line(place);
    for (let index = line.length - 1; index > 0; index -= 1) {
      if (value(line[index]) === value(line[index - 1])) continue;
      const sender = this.places[line[index]].event.received[0]?.sent;
      const places = sender === undefined ? [line[index]] : [sender, line[index]];
      return { text: `${keys.join(".")} is ${value(place)} since step ${index}.`, places };
    }
    return { text: `${keys.join(".")} is as it was at the start.`, places: [line[0]] };
  }

  /** Expressions are paths such as `locals.0.decided`. */
  values(expression, place) {
    return this.line(place).map((at) => {
      const value = expression.split(".").reduce((value, key) => value?.[key], this.places[at].global);
      return value === undefined ? null : JSON.stringify(value);
    });
  }

  strips(place) {
    const letters = this.line(place).map((at) => {
      const all = this.cluster.standings(this.places[at].global);
      const has = (property, standing) => all.some((other) => other.property === property && other.standing === standing);
      return this.cluster.properties.map((_, property) => (has(property, "violated") ? "v" : has(property, "owed") ? "o" : "h"));
    });
    return this.cluster.properties.map((_, property) => letters.map((all) => all[property]).join(""));
  }

  /** Breadth first, without timers, to a violation. */
  find(from) {
    const open = [from];
    const seen = new Set();
    while (open.length > 0 && seen.size < 4000) {
      const place = open.shift();
      const { global } = this.at(place);
      if (this.cluster.standings(global)[0].standing === "violated") return place;
      const all = this.cluster.enabled(global).filter(({ run }) => run === "propose" || run === "deliver");
      for (const action of all) {
        const { global: next } = this.cluster.step(global, action, 0, -1);
        const key = JSON.stringify(next, (name, value) => (name === "sent" ? undefined : value));
        if (seen.has(key)) continue;
        seen.add(key);
        open.push(this.take(place, action.action, 0));
      }
    }
    return null;
  }

  search(from, { strategy, seeds }) {
    this.at(from);
    if (!["auto", "bdfs", "walk"].includes(strategy)) throw new Refusal(400, `there is no strategy ${strategy}`, "host list names them.");
    const search = { search: this.searches.length, strategy, state: "running", text: "depth 3, 120 states", findings: [], polls: 0, from };
    if (seeds) search.seeds = { asked: seeds, done: 0, violating: 0 };
    this.searches.push(search);
    return { search: search.search };
  }

  poll(number) {
    const search = this.searches[number];
    if (!search) throw new Refusal(404, `there is no search ${number}`);
    search.polls += 1;
    if (search.state === "running" && search.seeds) walk(this, search);
    else if (search.state === "running" && !this.isHeld && search.polls > 2 && search.strategy !== "walk") {
      const scratch = this.scratch();
      const found = scratch.find(search.from);
      search.state = "done";
      search.text = found === null ? "ok: no violation within reach" : "violation: agreement";
      if (found !== null) search.findings.push(this.adopt(scratch, found));
      else search.representatives = this.ends(search.from);
    }
    const { polls, from, ...shown } = search;
    return shown;
  }

  /** The same steps in the tree of this session. */
  adopt(scratch, found) {
    let place = 0;
    for (const at of scratch.line(found).slice(1)) {
      const child = scratch.places[scratch.places[at].parent].children;
      const [key] = [...child.entries()].find(([, other]) => other === at);
      const [action, outcome] = key.split(" ").map(Number);
      place = this.take(place, action, outcome);
    }
    const line = this.line(place);
    const decided = (at) => JSON.stringify(this.at(at).global.locals.map(({ decided }) => decided));
    const rings = line.slice(1).filter((at) => decided(at) !== decided(this.at(at).parent));
    const marks = rings.map((at) => ({ place: at, kind: "ring", text: `decided: ${decided(at)}` }));
    return { text: "agreement is violated: 100 and 101 are decided", place, line, marks };
  }

  /** Executions with different ends. */
  ends(from) {
    const timers = this.cluster.enabled(this.at(from).global).filter(({ run }) => run === "tick");
    return timers.map(({ action, text }) => {
      const place = this.take(from, action, 0);
      return { text: `ends after ${text}`, place, line: this.line(place) };
    });
  }

  map(limit) {
    const { globals, edges, complete, keyOf } = this.reach(limit);
    const places = new Map(this.places.map(({ place, global }) => [keyOf(global), place]));
    const shown = globals.map(({ level, global }) => ({
      level,
      violated: this.cluster.standings(global)[0].standing === "violated" ? [0] : [],
      local: JSON.stringify(global.locals),
      place: places.get(keyOf(global)) ?? null,
    }));
    return { complete, states: shown, edges };
  }

  reach(limit) {
    const begin = this.cluster.beginning();
    const keyOf = (global) => JSON.stringify(global, (name, value) => (name === "sent" ? undefined : value));
    const numbers = new Map([[keyOf(begin), 0]]);
    const states = [{ level: 0, global: begin }];
    const edges = [];
    let isComplete = true;
    for (let from = 0; from < states.length; from += 1) {
      const { level, global } = states[from];
      for (const action of this.cluster.enabled(global)) {
        const next = this.cluster.step(global, action, 0, -1).global;
        const key = keyOf(next);
        if (!numbers.has(key)) {
          if (states.length >= limit) {
            isComplete = false;
            continue;
          }
          numbers.set(key, states.length);
          states.push({ level: level + 1, global: next });
        }
        edges.push({ from, to: numbers.get(key), node: action.node, text: action.text, action: action.action });
      }
    }
    return { complete: isComplete, globals: states, edges, keyOf };
  }

  goTo(state, limit) {
    const { edges } = this.map(limit);
    const way = [];
    for (let at = state; at !== 0; at = way[0].from) way.unshift(edges.find(({ to }) => to === at));
    const place = way.reduce((place, { action }) => this.take(place, action, 0), 0);
    return { place, line: this.line(place) };
  }

  link(place) {
    const line = this.line(place).slice(1);
    const keys = line.map((at) => {
      const { children } = this.places[this.places[at].parent];
      return [...children.entries()].find(([, other]) => other === at)[0].replace(" ", ".");
    });
    return { fragment: `v1/${keys.join("-")}` };
  }

  replay(fragment) {
    if (!fragment.startsWith("v1/")) throw new Refusal(400, "the link is none of this cluster", "It is one of another version.");
    const keys = fragment.slice(3).split("-").filter((key) => key !== "");
    const place = keys.reduce((place, key) => this.take(place, ...key.split(".").map(Number)), 0);
    return { place, line: this.line(place) };
  }
}

/** Answers a request of the API. */
function answer(mock, method, name, query, body) {
  const to = Number(query.get("to") ?? mock.end);
  const from = Number(query.get("from") ?? 0);
  const [part, first, second] = name.split("/");
  const number = Number(first);
  const { names, properties } = mock.cluster;
  switch (`${method} ${part}${first === undefined ? "" : "/"}${second ?? ""}`) {
    case "GET session":
      return {
        version: 1,
        title: `votes, ${names.length} nodes`,
        plugin: { reference: "plugins/votes", digest: "0f" },
        place: mock.end,
        line: mock.line(mock.end),
        nodes: names,
        properties,
        strategies: ["auto", "bdfs", "walk", "broken"],
        ...told(mock, mock.options.trace),
      };
    case "GET line":
      return mock.line(to).slice(from).map((place) => mock.step(mock.at(place)));
    case "GET tree":
      return mock.places.slice(from).map((place) => mock.step(place));
    case "GET standings":
      return { strips: mock.strips(to).map((strip) => strip.slice(from)) };
    case "GET places/":
      return mock.state(number);
    case "GET places/preview":
      return mock.preview(number, Number(query.get("action")), Number(query.get("outcome")));
    case "POST places/take": {
      const place = mock.take(number, body.action, body.outcome);
      return { place, line: [number, place] };
    }
    case "GET diff":
      return mock.diff(Number(query.get("one")), Number(query.get("other")));
    case "GET places/why":
      return mock.why(number, query);
    case "GET places/writer":
      return mock.writer(number, query);
    case "POST probes":
      if (!body.expression.startsWith("locals.")) throw new Refusal(400, `unknown name in ${body.expression}`, "Paths begin with locals.");
      return { probe: mock.probes.push(body.expression) - 1 };
    case "GET probes/":
      return { probe: number, expression: mock.probes[number], values: mock.values(mock.probes[number], to).slice(from, from + VALUES_MAX) };
    case "DELETE probes/":
      return {};
    case "POST places/search":
      return mock.search(number, body);
    case "GET searches/":
      return mock.poll(number);
    case "DELETE searches/":
      Object.assign(mock.searches[number], { state: "stopped", text: "stopped" });
      return {};
    case "GET map":
      return mock.map(Number(query.get("limit")));
    case "POST map/":
      return mock.goTo(body.state, body.limit);
    case "POST places/name":
      mock.at(number).name = body.name === "" ? null : body.name;
      return {};
    case "POST places/save":
      if (body.path.startsWith("/")) throw new Refusal(403, `${body.path} is outside of the folder`, "Give a path below it.");
      return { text: `The trace is in ${body.path}.` };
    case "GET places/link":
      return mock.link(number);
    case "GET places/trace":
      return mock.link(number);
    case "POST places/scenario":
      if (!body.path.endsWith(".toml")) throw new Refusal(400, `${body.path} is no name of a scenario`, "It ends in .toml.");
      if (mock.state(number).standings.every(({ standing }) => standing !== "violated")) {
        throw new Refusal(409, "no property is violated after this step", "Go to the step in which one is, or save a trace.");
      }
      return { text: `The scenario is in ${body.path}; host test runs it.` };
    case "GET local":
      return local(mock, Number(query.get("node")), Number(query.get("limit")), Number(query.get("at")));
    case "POST replay":
      return mock.replay(body.fragment);
    case "POST open":
      return mock.replay(body.fragment ?? "");
    default:
      throw new Refusal(404, `there is no ${method} ${name}`);
  }
}

/** Starts a server; `url` is the address of the page. */
export async function serve(options = {}) {
  const mock = new Mock(options);
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const name = url.pathname.replace(`/${TOKEN}/`, "");
    const send = (status, type, text) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff" });
      response.end(text);
    };
    try {
      if (!url.pathname.startsWith(`/${TOKEN}/`)) throw new Refusal(403, "the address lacks the token");
      if (!name.startsWith("api/v1/")) {
        const file = name === "" ? "index.html" : name;
        return send(200, TYPES[path.extname(file)] ?? "text/plain", await readFile(path.join(dist, path.basename(file))));
      }
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      const answered = answer(mock, request.method, name.slice("api/v1/".length), url.searchParams, text === "" ? {} : JSON.parse(text));
      send(200, "application/json", JSON.stringify(answered));
    } catch (error) {
      send(error.status ?? 400, "application/json", JSON.stringify({ error: error.message, help: error.help ?? null }));
    }
  });
  await new Promise((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${server.address().port}/${TOKEN}/`, close, mock };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name) => process.argv[process.argv.indexOf(name) + 1];
  const has = (name) => process.argv.includes(name);
  const { url } = await serve({
    port: has("--port") ? Number(option("--port")) : 0,
    steps: has("--steps") ? Number(option("--steps")) : 0,
    isHostile: has("--hostile"),
    trace: has("--trace") ? option("--trace") : undefined,
  });
  console.log(url);
}
