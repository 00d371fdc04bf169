// Times of the page, for people: node test/bench.mjs HOST, with a built `host`.
// Nothing is asserted: the tests bound what the page executes, draws and asks for.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { drawn, launch, linked, open, press, settled, steps } from "./browser.mjs";

const ROUNDS = 5;
/** Steps of the shorter and of the longer execution. */
const STEPS = 1_000;
const MANY = 100_000;
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../..");
const host = path.resolve(process.argv[2] ?? path.join(root, "target/release/host"));
const folder = await mkdtemp(path.join(tmpdir(), "host-explore-bench-"));
const browser = await launch();
/** The process of the server, and the page, whose processor time is measured. */
let server = null;
let profile = null;

await map();
await thousand();
await rm(folder, { recursive: true });
await browser.close();

/** Runs with the page of `host explore` and these words. */
async function explored(words, run) {
  const began = performance.now();
  server = spawn(host, ["explore", ...words], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  const started = performance.now() - began;
  const session = await open(browser, url, {});
  await settled(session.page);
  const opened = performance.now() - began - started;
  profile = await session.context.newCDPSession(session.page);
  await profile.send("Performance.enable");
  try {
    await run({ page: session.page, url, started, opened });
  } finally {
    await session.end();
    server.kill("SIGINT");
    await new Promise((resolve) => server.once("close", resolve));
  }
}

/** Milliseconds of processor time so far, of the server (on Linux) and of the main thread of the page. */
async function processor() {
  const stat = await readFile(`/proc/${server.pid}/stat`, "utf8").catch(() => "");
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
  const { metrics } = await profile.send("Performance.getMetrics");
  return [10 * (user + system), 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0)];
}

/** Prints the median and the longest time of an action, and its processor time; a first one does not count if there are others. */
async function timed(name, run, rounds = ROUNDS) {
  const times = [];
  let before = await processor();
  for (let round = 0; round <= rounds; round += 1) {
    const start = performance.now();
    await run(round);
    if (round > 0 || rounds === 0) times.push(performance.now() - start);
    else before = await processor();
  }
  const after = await processor();
  times.sort((one, other) => one - other);
  const used = after.map((ms, index) => (ms - before[index]) / times.length);
  const all = [times[Math.floor(times.length / 2)], times.at(-1), ...used];
  console.log(`| ${name} | ${all.map((ms) => ms.toFixed(0)).join(" | ")} |`);
}

/** Maps of Paxos. */
async function map() {
  const component = path.join(root, "plugins/paxos");
  await explored([component, "--quiet", "--", "--nodes", "3"], async ({ page, url }) => {
    console.log("| action | median ms | longest ms | processor ms: server | page |\n|---|---|---|---|---|");
    await press(page, "4");
    await page.waitForSelector(".map-canvas");
    const states = page.getByLabel("States of the map at most");
    const shows = async (count) => {
      await states.selectOption(count);
      await page.waitForFunction((count) => document.querySelector(".map .note")?.textContent?.startsWith(`${count} states`), count);
      await drawn(page);
    };
    // Another bound in between: the server keeps the last exploration.
    await timed("a map of 5,000 states", async (round) => {
      await shows("5000");
      if (round < ROUNDS) await fetch(`${url}api/v1/map?limit=1`);
    });
    await page.locator(".map-canvas").focus();
    await timed("pointing at a state of it", () => press(page, "ArrowDown").then(() => drawn(page)));
  });
}

/** Moves and events of Chord, which has no end. */
async function thousand() {
  const component = path.join(root, "plugins/chord");
  let trace;
  await explored([component, "--quiet"], async ({ page, url }) => {
    const ask = async (request, body) => (await fetch(`${url}api/v1/${request}`, body && { method: "POST", body: JSON.stringify(body) })).json();
    let place = 0;
    for (let step = 0; step < STEPS; step += 1) {
      const { enabled } = await ask(`places/${place}`);
      const next = enabled.find(({ kind }) => kind === "deliver") ?? enabled.filter(({ kind }) => kind === "timer" || kind === "local")[step % 3] ?? enabled[0];
      ({ place } = await ask(`places/${place}/take`, { action: next.action, outcome: 0 }));
    }
    const { fragment } = await ask(`places/${place}/link`);
    await page.goto(`${url}#${fragment}`);
    await page.waitForFunction((end) => document.querySelector(".present")?.textContent?.endsWith(`of ${end}`), STEPS);
    await clicks(page, STEPS);
    trace = await ask(`places/${place}/trace`);
  });
  repeat(trace);
  await writeFile(path.join(folder, "long.json"), JSON.stringify(trace));
  await explored(["long.json", "--plugin", component, "--quiet"], async ({ page, started, opened }) => {
    console.log(`| ${MANY} steps: start of the session | ${started.toFixed(0)} | | | |\n| ${MANY} steps: the page is there | ${opened.toFixed(0)} | | | |`);
    await clicks(page, MANY);
    await timed("all values of a probe", async () => {
      await page.locator("#probe").fill("size(nodes)");
      await page.locator("#probe").press("Enter");
      await page.waitForFunction(() => document.querySelector(".probe-name") && !document.querySelector(".probe-name .note"));
      await page.locator("#probe").press("Escape");
    }, 0);
    await timed("an event with that probe", () => event(page));
    await timed("saving the trace", async (round) => {
      await press(page, "s");
      await page.locator("#save-path").fill(`saved-${round}.json`);
      await page.locator("#save-path").press("Enter");
      await page.waitForFunction(() => !document.querySelector("dialog"));
    }, 2);
  });
}

async function clicks(page, length) {
  await press(page, "g");
  for (const [name, key] of [["the next step", "j"], ["the end", "G"], ["the beginning", "g"], ["the end again", "G"]]) {
    await timed(`${length} steps: ${name}`, () => press(page, key).then(() => drawn(page)));
  }
  await timed(`${length} steps: an event`, () => event(page));
}

async function event(page) {
  const { step } = await steps(page);
  await page.locator(".next > ul button.choice").first().click();
  await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), step + 1);
  await settled(page);
  await linked(page);
  await drawn(page);
}

/** Repeats a part of a trace that ends where it begins until it has very many steps. */
function repeat(trace) {
  const known = new Map();
  const [locals, flight] = [new Map(), new Map()];
  const change = (message, by) => flight.set(message, (flight.get(message) ?? 0) + by);
  for (const [index, { node, event, sent, state }] of trace.steps.entries()) {
    if (event.kind === "deliver") change(`${event.from} ${node} ${event.payload}`, -1);
    for (const { to, payload } of sent) change(`${node} ${to} ${payload}`, 1);
    locals.set(node, state);
    const key = JSON.stringify([[...locals].sort(), [...flight].filter(([, count]) => count > 0).sort()]);
    const before = known.get(key);
    if (before !== undefined) {
      const cycle = trace.steps.slice(before + 1, index + 1).map(({ sent, state, ...step }) => step);
      const head = trace.steps.slice(0, index + 1);
      trace.steps = [...head, ...Array.from({ length: MANY - head.length }, (_, step) => cycle[step % cycle.length])];
      return;
    }
    known.set(key, index);
  }
  throw new Error("no part of the trace ends where it begins");
}
