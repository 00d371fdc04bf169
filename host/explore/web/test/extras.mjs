// What the mock server says of a trace and of searches by seeds: verdict, marks, lines, the graph of one node.

/** Takes the first enabled event with these words, or with the outcome of these words; returns the last place. */
export function follow(mock, from, words) {
  let place = from;
  for (const wanted of words) {
    const all = mock.cluster.enabled(mock.at(place).global);
    const action = all.find(({ text, outcomes }) => text.includes(wanted) || outcomes.includes(wanted));
    if (!action) throw new Error(`no event has the words ${wanted}`);
    place = mock.take(place, action.action, Math.max(action.outcomes.indexOf(wanted), 0));
  }
  return place;
}

/** The fields of a session that is a trace: of a violation, or of a broken promise with its cycle. */
export function told(mock, kind) {
  if (!kind) return {};
  const line = mock.line(mock.end);
  const end = mock.end;
  const about = [
    { name: "component", value: "votes 1.0, 0f" },
    { name: "replay", value: "host replay found/trace.json" },
  ];
  const decides = (place) => JSON.stringify(mock.at(place).global.locals.map(({ decided }) => decided));
  const rings = line.slice(1).filter((place) => decides(place) !== decides(mock.at(place).parent));
  const ring = (place) => ({ place, kind: "ring", text: `decided: ${mock.lines(place).at(-1)}` });
  if (kind === "violation") {
    return {
      verdict: ["agreement is violated: 100 and 101 are decided", "node 0 decided 100 since step 5", `node 1 decided 101 since step ${line.length - 1}`],
      marks: [...rings.map(ring), { place: line[2], kind: "after", text: "end of the prefix" }],
      reads: [{ property: 0, node: 0, paths: ["decided", "decided.#"] }],
      about,
    };
  }
  return {
    verdict: ["decided is broken: node 0 never decides"],
    marks: [
      { place: line[2], kind: "critical", text: "the critical step: before it, node 0 could still decide" },
      { place: line[3], kind: "before", text: "what follows happens again and again" },
      { place: end, kind: "after", text: "and again from step 3 on, for ever" },
    ],
    crashed: [1],
    reads: [{ property: 1, node: 0, paths: ["decided"] }],
    sibling: { text: "in place of step 2, these 4 keep the promise", line: mock.line(mock.kept) },
    about,
  };
}

/** The states of one node within reach, with those of the others as they come. */
export function local(mock, node, limit, at) {
  const keyOf = (local) => JSON.stringify(local);
  const here = keyOf(mock.at(at).global.locals[node]);
  const { globals, edges, complete } = mock.reach(limit);
  const numbers = new Map();
  const states = [];
  const numberOf = ({ level, global }) => {
    const key = keyOf(global.locals[node]);
    if (!numbers.has(key)) {
      numbers.set(key, states.length);
      states.push({ level, violated: [], local: key, place: null });
    }
    return numbers.get(key);
  };
  const all = globals.map(numberOf);
  const seen = new Set();
  const shown = edges.map(({ from, to, node, text }) => ({ from: all[from], to: all[to], node, text }));
  const own = shown.filter((edge) => edge.node === node && edge.from !== edge.to && !seen.has(`${edge.from} ${edge.to}`) && seen.add(`${edge.from} ${edge.to}`));
  // The distance in the graph of the node itself.
  const levels = new Map([[0, 0]]);
  for (const from of levels.keys()) for (const { to } of own.filter((edge) => edge.from === from)) if (!levels.has(to)) levels.set(to, levels.get(from) + 1);
  states.forEach((state, index) => (state.level = levels.get(index) ?? 0));
  return { complete, states, edges: own, here: numbers.get(here) ?? null };
}

/** Random walks, one per seed, a few more with each poll. */
export function walk(mock, search) {
  const { seeds } = search;
  const last = mock.isHeld ? seeds.asked - 1 : seeds.asked;
  for (let count = 0; count < 10 && seeds.done < last; count += 1) {
    seeds.done += 1;
    const scratch = mock.scratch();
    let place = search.from;
    let random = seeds.done * 7919;
    for (let step = 0; step < 30 && !isBad(scratch, place); step += 1) {
      const all = scratch.cluster.enabled(scratch.at(place).global).filter(({ run }) => run === "propose" || run === "deliver");
      if (all.length === 0) break;
      random = (random * 1103515245 + 12345) % 2147483648;
      place = scratch.take(place, all[random % all.length].action, 0);
    }
    if (!isBad(scratch, place)) continue;
    seeds.violating += 1;
    const [finding] = search.findings;
    const depth = scratch.at(place).depth;
    if (!finding || depth < mock.at(finding.place).depth) search.findings = [{ ...mock.adopt(scratch, place), seeds: seeds.violating }];
    else finding.seeds = seeds.violating;
  }
  search.text = `${seeds.violating} of ${seeds.done} seeds violate a property`;
  if (seeds.done === seeds.asked) search.state = "done";
}

function isBad(mock, place) {
  return mock.cluster.standings(mock.at(place).global)[0].standing === "violated";
}
