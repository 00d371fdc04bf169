// A small protocol for the mock server: two proposers, voters that vote twice, timers, faults, a coin.

const QUORUM = 2;

const hostile = '<img src=x onerror="window.injected = true">\u202Eevil';

export function cluster({ isHostile = false, isCorrect = false, nodes = 3 } = {}) {
  const name = (node) => (isHostile ? `${hostile} ${node}` : `node ${node}`);
  const say = (text) => (isHostile ? `${text} ${hostile}` : text);
  const fresh = () => ({ ticks: 0, proposed: false, vote: null, coin: null, seen: {}, decided: [] });
  const names = Array.from({ length: nodes }, (_, node) => name(node));

  const beginning = () => ({ locals: names.map(fresh), flight: [], faults: 1 });

  /** All enabled events, in an order that stays the same. */
  const enabled = (global) => {
    const all = [];
    const add = (node, kind, text, outcomes, extra = {}) => all.push({ action: all.length, node, kind, text, outcomes, ...extra });
    global.locals.forEach((local, node) => {
      if (node < 2 && !local.proposed) add(node, "local", `${name(node)}: ${say("propose (application)")}`, [null], { run: "propose" });
      if (node === 2 && local.coin === null) add(node, "local", `${name(node)}: ${say("toss")}`, ["heads", "tails"], { run: "toss" });
      add(node, "timer", `${name(node)}: ${say("tick")}`, [null], { run: "tick" });
    });
    global.flight.forEach((message, index) => {
      add(message.to, "deliver", `${name(message.to)} <- ${name(message.from)}: ${message.text}`, [null], { run: "deliver", message, index });
    });
    if (global.faults > 0) global.locals.forEach((_, node) => add(node, "fault", `${name(node)}: ${say("reset")}`, [null], { run: "reset" }));
    global.flight.forEach((message, index) => {
      add(message.to, "lose", `lose ${message.text} to ${name(message.to)}`, [null], { run: "lose", message, index });
    });
    return all;
  };

  /** The global state after an event, and what the event sends. */
  const step = (global, action, outcome, place) => {
    const next = structuredClone(global);
    const local = next.locals[action.node];
    const sent = [];
    const send = (to, what) => sent.push({ from: action.node, to, text: say(JSON.stringify(what).replaceAll('"', "")), what });
    const received = action.message ? [{ ...action.message, lost: action.run === "lose" }] : [];
    if (action.message) next.flight.splice(action.index, 1);
    if (action.run === "propose") {
      local.proposed = true;
      names.forEach((_, to) => send(to, { Ask: 100 + action.node }));
    } else if (action.run === "toss") {
      local.coin = ["heads", "tails"][outcome];
    } else if (action.run === "tick") {
      local.ticks += 1;
      if (local.ticks % 3 === 0) send((action.node + 1) % nodes, { Ping: local.ticks });
    } else if (action.run === "reset") {
      next.locals[action.node] = fresh();
      next.faults -= 1;
    } else if (action.run === "deliver") {
      deliver(local, action.message, send);
    }
    next.flight.push(...sent.map((message) => ({ ...message, sent: place })));
    const event = {
      node: action.node,
      kind: action.kind,
      text: action.text,
      received: received.map(({ from, to, sent, text, lost }) => ({ from, to, sent, text, lost })),
      sent: sent.map(({ from, to, text }) => ({ from, to, text })),
      fault: action.kind === "fault" ? action.run : null,
    };
    return { global: next, event };
  };

  // The mistake, unless it is correct: a node votes for every proposal.
  const deliver = (local, { from, to, what }, send) => {
    if ("Ask" in what) {
      if (isCorrect && local.vote !== null) return;
      local.vote = what.Ask;
      send(from, { Vote: what.Ask, by: to });
    } else if ("Vote" in what) {
      const voters = (local.seen[what.Vote] ??= []);
      if (!voters.includes(what.by)) voters.push(what.by);
      if (voters.length >= QUORUM && !local.decided.includes(what.Vote)) local.decided.push(what.Vote);
    }
  };

  const properties = [
    { name: isHostile ? `agreement ${hostile}` : "agreement", kind: "always", scope: "cluster" },
    { name: "decided", kind: "eventually", scope: "node" },
  ];

  const standings = ({ locals }) => {
    const decided = [...new Set(locals.flatMap((local) => local.decided))];
    const agreement =
      decided.length > 1
        ? { property: 0, node: null, standing: "violated", why: say(`${decided.join(" and ")} are decided`) }
        : { property: 0, node: null, standing: "holds", why: null };
    const promises = locals.slice(0, 2).map((local, node) =>
      local.decided.length > 0
        ? { property: 1, node, standing: "holds", why: null }
        : { property: 1, node, standing: "owed", why: "decided is empty" },
    );
    return [agreement, ...promises];
  };

  return { names, properties, beginning, enabled, step, standings };
}

/** The rows of a state, against another one. */
export function rows(state, before) {
  const all = [];
  add(all, 0, "", state, before);
  return all;
}

function add(all, depth, name, value, before) {
  const isParent = (value) => value !== null && typeof value === "object";
  if (isParent(value)) {
    const isNew = !isParent(before);
    if (name !== "") all.push({ depth, mark: isNew ? "new" : "same", name, value: Object.keys(value).length === 0 ? "{}" : "", old: null });
    const below = name === "" ? depth : depth + 1;
    for (const key of Object.keys(value)) add(all, below, key, value[key], isNew ? undefined : before[key]);
    if (!isNew) {
      for (const key of Object.keys(before)) {
        if (!(key in value)) all.push({ depth: below, mark: "gone", name: key, value: JSON.stringify(before[key]), old: null });
      }
    }
    return;
  }
  const text = JSON.stringify(value);
  const old = before === undefined ? undefined : JSON.stringify(before);
  const mark = old === undefined ? "new" : old === text ? "same" : "changed";
  all.push({ depth, mark, name, value: text, old: mark === "changed" ? old : null });
}
