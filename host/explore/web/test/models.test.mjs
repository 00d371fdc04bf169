// The parts of the page that compute, on random walks, against what the mock server says or what a naive way gives.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { Mock } from "./mock.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const SEEDS = 40;
const STEPS = 40;

/** A module of the page. */
async function module(name) {
  const { outputFiles } = await build({ entryPoints: [path.join(here, "../src", name)], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

/** Numbers below a bound, from a seed. */
function draws(seed) {
  let state = seed * 2654435761 + 1;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** A session in which steps were taken from random places, mostly from the last one; ends of branches. */
function walked(seed) {
  const draw = draws(seed);
  const mock = new Mock({});
  let place = 0;
  const ends = [];
  for (let step = 0; step < STEPS; step += 1) {
    if (draw(10) === 0) {
      ends.push(place);
      place = draw(mock.places.length);
    }
    const enabled = mock.cluster.enabled(mock.places[place].global);
    const action = enabled[draw(enabled.length)];
    place = mock.take(place, action.action, draw(action.outcomes.length));
  }
  return { mock, ends: [...ends, place], draw };
}

function stepsOf(mock) {
  return new Map(mock.places.map((place) => [place.place, mock.step(place)]));
}

/** For each seed and end of a branch. */
function eachBranch(check) {
  let branches = 0;
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const { mock, ends, draw } = walked(seed);
    for (const end of ends) check(mock, end, draw, `seed ${seed}, place ${end}`);
    branches += ends.length;
  }
  assert.ok(branches > 2 * SEEDS, "the walks have branches");
}

const sorted = (all) => all.map((one) => JSON.stringify(one)).sort();

test("messages without an end are those in flight", async () => {
  const { messages } = await module("space/messages.ts");
  eachBranch((mock, end, _, which) => {
    const line = mock.line(end);
    const open = messages(line, stepsOf(mock), []).filter((message) => message.end === null);
    const flying = mock.state(end).flight.map(({ from, to, text, sent }) => [from, to, text, line.indexOf(sent)]);
    assert.deepEqual(sorted(open.map(({ from, to, text, sent }) => [from, to, text, sent])), sorted(flying), which);
  });
});

/** The steps of a session, which count how often one is read. */
class Counting extends Map {
  reads = 0;
  get(place) {
    this.reads += 1;
    return super.get(place);
  }
}

test("messages of a branch after another one are those of a fresh drawing, and only what differs is read", async () => {
  const { Messages, messages } = await module("space/messages.ts");
  eachBranch((mock, end, draw, which) => {
    const steps = new Counting(stepsOf(mock));
    const kept = new Messages();
    let last = [];
    for (const place of [end, ...Array.from({ length: 12 }, () => draw(mock.places.length)), end]) {
      const line = mock.line(place);
      const shared = line.findIndex((at, row) => at !== last[row]);
      steps.reads = 0;
      const all = kept.of(line, steps, null);
      assert.equal(steps.reads, shared < 0 ? 0 : line.length - shared, which);
      assert.deepEqual(all, messages(line, steps, []), which);
      last = line;
    }
  });
});

test("what a broken connection loses ends there, and is no cause of the step", async () => {
  const { messages } = await module("space/messages.ts");
  const { past } = await module("space/past.ts");
  const message = (from, to, sent, text) => ({ from, to, sent, text });
  const step = (place, node, kind, received, sent) => [place, { place, parent: place - 1, depth: place, event: { node, kind, text: kind, received, sent } }];
  // Node 1 sends to node 0, which is reset, and twice more before it knows of that: the first of these is lost at once.
  const steps = new Map([
    [0, { place: 0, parent: null, depth: 0, event: null }],
    step(1, 1, "local", [], [message(1, 0, 1, "a")]),
    step(2, 0, "fault", [{ ...message(1, 0, 1, "a"), lost: true }], []),
    step(3, 1, "local", [{ ...message(1, 0, 3, "b"), lost: true }], [message(1, 0, 3, "b"), message(1, 2, 3, "b")]),
    step(4, 2, "deliver", [{ ...message(1, 2, 3, "b"), lost: false }], []),
  ]);
  const line = [0, 1, 2, 3, 4];
  const all = messages(line, steps, []).map(({ to, text, sent, end, isLost }) => [to, text, sent, end, isLost]);
  assert.deepEqual(all, [[0, "a", 1, 2, true], [0, "b", 3, 3, true], [2, "b", 3, 4, false]]);
  assert.deepEqual([...past(line, steps, 2)], [2], "the reset follows from nothing");
  assert.deepEqual([...past(line, steps, 4)].sort(), [1, 3, 4]);
});

test("the past of a step is the closure of its causes", async () => {
  const { past } = await module("space/past.ts");
  eachBranch((mock, end, draw, which) => {
    const line = mock.line(end);
    const steps = stepsOf(mock);
    const row = draw(line.length);
    // Naive: add direct causes until nothing is added.
    const wanted = new Set([row]);
    for (let before = -1; before !== wanted.size; ) {
      before = wanted.size;
      for (const at of [...wanted]) {
        const event = steps.get(line[at]).event;
        if (!event) continue;
        for (const { sent } of event.received) wanted.add(line.indexOf(sent));
        for (let other = 0; other < at; other += 1) if (steps.get(line[other]).event?.node === event.node) wanted.add(other);
      }
    }
    assert.deepEqual([...past(line, steps, row)].sort(), [...wanted].sort(), which);
  });
});

test("lanes have every place once, below its parent", async () => {
  const { lanes } = await module("branches/lanes.ts");
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const { mock } = walked(seed);
    const childrenOf = (place) => [...mock.places[place].children.values()];
    const { all } = lanes(stepsOf(mock), childrenOf, 0);
    const places = all.flatMap((lane) => lane.places);
    assert.deepEqual(places.sort((one, other) => one - other), mock.places.map(({ place }) => place));
    for (const lane of all.slice(1)) {
      assert.ok(lane.from < lane.lane);
      assert.ok(all[lane.from].places.includes(mock.places[lane.places[0]].parent));
    }
  }
});

test("a recording answers as the server does", async () => {
  const { Player } = await module("recording/player.ts");
  const { path: pathOf } = await module("state/rows.ts");
  const leaves = (rows) =>
    sorted(rows.flatMap((row, index) => (row.mark === "same" || ["", "{}", "[]"].includes(row.value) ? [] : [[pathOf(rows, index), row.mark]])));
  eachBranch((mock, end, draw, which) => {
    const session = { properties: mock.cluster.properties, nodes: mock.cluster.names };
    const player = new Player({ session, states: mock.places.map(({ place }) => mock.state(place)) });
    const get = (path) => player.answer("GET", path, null);
    assert.deepEqual(get(`line?to=${end}&from=0`), mock.line(end).map((place) => mock.step(mock.at(place))), which);
    assert.deepEqual(get(`standings?to=${end}`).strips, mock.strips(end), which);
    assert.deepEqual(get(`standings?to=${end}&from=1`).strips, mock.strips(end).map((strip) => strip.slice(1)), which);
    const other = draw(mock.places.length);
    const [ours, theirs] = [get(`diff?one=${other}&other=${end}`), mock.diff(other, end)];
    assert.equal(ours.shared, theirs.shared, which);
    const changed = ({ nodes }) => nodes.map(({ node, rows }) => [node, leaves(rows)]).filter(([, all]) => all.length > 0);
    // A list that becomes longer or empty is one row for the one and several for the other.
    const names = (all) => JSON.stringify(all.map(([node]) => node));
    assert.equal(names(changed(ours)), names(changed(theirs)), which);
    for (const place of mock.line(end).slice(1)) {
      const parent = mock.places[place].parent;
      const [key] = [...mock.places[parent].children.entries()].find(([, child]) => child === place);
      const [action, outcome] = key.split(" ").map(Number);
      const [preview, wanted] = [get(`places/${parent}/preview?action=${action}&outcome=${outcome}`), mock.preview(parent, action, outcome)];
      assert.deepEqual(preview, wanted, which);
    }
  });
});

test("a recording that is packed is the same when it is unpacked, and smaller", async () => {
  const { packed, unpacked } = await module("recording/recording.ts");
  eachBranch((mock, end, draw, which) => {
    const session = { properties: mock.cluster.properties, nodes: mock.cluster.names };
    const recording = { session, states: mock.places.map(({ place }) => mock.state(place)) };
    const text = JSON.stringify(packed(recording));
    const again = unpacked(JSON.parse(text));
    // Children come from parents, in the order of places.
    const ordered = recording.states.map((state) => ({ ...state, children: [...state.children].sort((one, other) => one.place - other.place) }));
    assert.deepEqual(again, { session, states: ordered }, which);
    assert.ok(text.length < JSON.stringify(recording).length, which);
    // Of some places only: no way leads to the others.
    const line = mock.line(end);
    const part = unpacked(packed({ session, states: line.map((place) => mock.state(place)) }));
    for (const { children, enabled } of part.states) {
      const ways = [...children.map(({ place }) => place), ...enabled.flatMap(({ outcomes }) => outcomes.map(({ child }) => child)).filter((child) => child !== null)];
      for (const place of ways) assert.ok(line.includes(place), which);
    }
  });
});

test("changes alone have the paths and values of what differs", async () => {
  const { leaves } = await module("state/rows.ts");
  // The naive way: both states as lists of paths with scalars.
  const flat = (value, path = []) =>
    value !== null && typeof value === "object" && Object.keys(value).length > 0 ? Object.keys(value).flatMap((key) => flat(value[key], [...path, key])) : [[path.join("."), JSON.stringify(value)]];
  let changes = 0;
  eachBranch((mock, end, _, which) => {
    const { global, parent, event } = mock.places[end];
    if (parent === null) return;
    const [after, before] = [new Map(flat(global.locals[event.node])), new Map(flat(mock.places[parent].global.locals[event.node]))];
    const shown = leaves(mock.state(end).nodes[event.node].rows);
    const isChange = ([path, value]) => before.has(path) && before.get(path) !== value && !value.startsWith("[") && !value.startsWith("{");
    const wanted = [...after].filter(isChange).map(([path, value]) => [path, before.get(path), value]);
    const changed = shown.filter(({ mark }) => mark === "changed").map(({ name, old, value }) => [name, old, value]);
    assert.deepEqual(sorted(changed), sorted(wanted), which);
    for (const { name, value } of shown.filter(({ mark, value }) => mark === "new" && !["", "{}", "[]"].includes(value))) {
      assert.equal(after.get(name), value, which);
      assert.notEqual(before.get(name), value, which);
    }
    changes += changed.length;
  });
  assert.ok(changes > SEEDS / 2, `${changes} changes`);
});

test("a pattern of a field that is read stands for any element of a list", async () => {
  const { isBelow } = await module("state/reads.ts");
  for (const path of ["votes.0.by", "votes.12.by"]) assert.ok(isBelow(path, "votes.#.by"));
  // A name around the whole state is not part of the path.
  const { within } = await module("state/rows.ts");
  const row = (depth, name) => ({ depth, mark: "same", name, value: "", old: null });
  assert.equal(within([row(0, "Running"), row(1, "votes")], "Running.votes"), "votes");
  assert.equal(within([row(0, "Running"), row(0, "votes")], "Running.votes"), "Running.votes");
  for (const path of ["votes.by", "votes.a.by", "votes.0", "votes.0.by.0", "other.0.by"]) assert.ok(!isBelow(path, "votes.#.by"), path);
});

test("labels of a map name an event into each state, fit their level, and are few where there is no room", async () => {
  const { words, labels } = await module("map/labels.ts");
  const { layered } = await module("map/layered.ts");
  const mock = new Mock({});
  for (const limit of [5, 40, 1000]) {
    const map = mock.map(limit);
    const all = words(map, mock.cluster.names, false);
    assert.equal(all[0], "start");
    for (let state = 1; state < map.states.length; state += 1) {
      const into = map.edges.filter(({ from, to }) => to === state && map.states[from].level < map.states[state].level);
      assert.ok(into.some(({ text }) => text === all[state]), `${limit}, state ${state}: ${all[state]}`);
    }
    const looks = { map, layered: layered(map), sight: { scale: 1, left: 0, top: 0 }, width: 900, height: 500 };
    const shown = labels(looks, all);
    assert.ok(shown.length > 0 && shown.length <= 150, `${shown.length} labels`);
    for (const { state, text } of shown) assert.ok(text.length * 6 <= 900 / looks.layered.sizes[map.states[state].level], text);
    // Nearer, more of them have room.
    const near = labels({ ...looks, sight: { scale: 3, left: 0, top: 0 } }, all);
    assert.ok(near.every(({ x, y }) => x <= 900 && y <= 500));
  }
  // Of one node, its name says nothing.
  assert.ok(words(mock.map(40), mock.cluster.names, true).every((text) => !text.startsWith("node 0")));
});
