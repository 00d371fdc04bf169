// The page against the mock server. No time is asserted: what is asserted is how much is executed, drawn and asked for.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { countElements, injectsNothing, linked, open, press, settled, steps, take } from "./browser.mjs";
import { serve } from "./mock.mjs";
import { browser, withPage } from "./session.mjs";
import { counting } from "./work.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
/** Layouts per action: the page is laid out a few times while it changes, once per frame at most. */
const LAYOUTS_MAX = 40;
const VIOLATION = ["propose", "from node 0: {Ask:100}", "from node 0: {Ask:100}", "from node 1: {Vote:100", "from node 0: {Vote:100"];

test("a violation is reached by clicks, and the page says which and why", () =>
  withPage({}, async (page) => {
    for (const words of VIOLATION) await take(page, words);
    await page.locator(".next h3:has-text('node 1') + ul button:has-text('propose')").click();
    await settled(page);
    for (const words of ["from node 1: {Ask:101}", "from node 1: {Ask:101}", "from node 1: {Vote:101"]) await take(page, words);
    const agreement = page.locator(".properties .strip").first();
    assert.match(await agreement.innerText(), /holds/);
    const last = page.locator(".next button.choice", { hasText: "from node 0: {Vote:101" }).first();
    await last.hover();
    await page.waitForSelector(".preview .standing.violated");
    await last.click();
    await settled(page);
    assert.match(await agreement.innerText(), /violated:\s+100 and 101 are decided/);
    await page.waitForSelector(".sheet g.event.now .violation");
    await press(page, "g", "v");
    assert.deepEqual(await steps(page), { step: 10, end: 10 });
  }));

test("where no step is taken, the ways to begin are shown, and lead there", () =>
  withPage({}, async (page) => {
    const hint = page.locator(".first-hint");
    await hint.getByRole("button", { name: "Search from here" }).click();
    await page.waitForFunction(() => document.activeElement?.id === "strategy");
    await hint.getByRole("button", { name: "See the map" }).click();
    await page.waitForSelector(".map-canvas");
    await press(page, "1");
    await hint.getByRole("button", { name: "Take an event" }).click();
    await page.waitForFunction(() => document.activeElement?.matches(".next button.choice"));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 1 of 1");
    assert.equal(await hint.count(), 0);
  }));

test("the next step of a branch stays, another one makes a new branch, and the two are compared", () =>
  withPage({}, async (page) => {
    for (const words of VIOLATION) await take(page, words);
    await press(page, "k", "k");
    await take(page, "from node 1: {Vote:100");
    assert.deepEqual(await steps(page), { step: 4, end: 5 });
    await press(page, "k");
    await take(page, "tails");
    assert.deepEqual(await steps(page), { step: 4, end: 4 });
    await press(page, "2");
    assert.equal(await page.locator(".tree-drawing .lane").count(), 2);
    await page.locator(".moments button:has-text('Compare'):enabled").click();
    await page.waitForSelector(".sides .first-difference");
    assert.match(await page.locator(".compare").innerText(), /first 3 steps are shared/);
    assert.deepEqual(await page.locator(".sides .first-difference code").allInnerTexts(), ["node 0 <- node 1: {Vote:100,by:1}", "node 2: toss"]);
    assert.match(await page.locator(".compare .tree").last().innerText(), /coin:\s*null\s*→\s*"tails"/);
    await press(page, "1", "k", "]", "[");
    await press(page, "u");
    assert.equal((await steps(page)).step > 0, true);
  }));

test("a fault is taken by click; a probe, a writer and a moment's name are shown", () =>
  withPage({}, async (page) => {
    await take(page, "propose");
    await page.locator("details.faults summary").click();
    await page.locator("details.faults button", { hasText: "node 0: reset" }).click();
    await settled(page);
    assert.equal(await page.locator(".sheet g.event.now .fault").count(), 1);
    await page.locator("#probe").fill("locals.0.proposed");
    await page.locator("#probe").press("Enter");
    await page.waitForSelector(".probe-name");
    assert.deepEqual(await page.locator(".sheet g.event text.mark").allTextContents(), ["falsefalse", "truetrue", "falsefalse"]);
    await page.locator(".tree-row button.field", { hasText: "proposed" }).first().click();
    await page.waitForSelector(".why-box .text");
    assert.match(await page.locator(".why-box .text").innerText(), /false since step 2/);
    assert.equal(await page.locator(".why-row").count(), 1);
    await page.keyboard.press("m");
    await page.locator("#moment-name").fill("after the reset");
    await page.locator("#moment-name").press("Enter");
    await page.waitForSelector(".moments li.here:has-text('after the reset')");
  }));

test("messages in flight end open, and a click says why; a step moves before an independent one", () =>
  withPage({}, async (page) => {
    await take(page, "propose");
    await take(page, "heads");
    assert.match(await page.locator(".sheet .open text").first().textContent(), /to 0, 1, 2: \{Ask:100\}/);
    await page.locator(".sheet .open .why").first().click();
    await page.waitForSelector(".why-box .text");
    assert.match(await page.locator(".why-box .text").innerText(), /can be delivered now/);
    assert.deepEqual(await steps(page), { step: 2, end: 2 });
    await press(page, "Escape", ",");
    await page.waitForFunction(() => document.querySelector('.sheet [data-row="1"]')?.getAttribute("aria-label")?.includes("toss"));
    assert.deepEqual(await steps(page), { step: 1, end: 2 });
  }));

test("a step is dragged up where it is independent, and not where it is caused", () =>
  withPage(
    {},
    async (page) => {
      for (const words of ["propose", "from node 0: {Ask:100}", "from node 0: {Ask:100}", "heads"]) await take(page, words);
      const texts = () => page.locator(".sheet g.event").evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-label").replace(/^Step \d+: /, "")));
      const drag = async (from, to) => {
        const [one, other] = [await page.locator(`.sheet [data-row="${from}"] .number`).boundingBox(), await page.locator(`.sheet [data-row="${to}"] .number`).boundingBox()];
        await page.mouse.move(one.x + 200, one.y + 5);
        await page.mouse.down();
        await page.mouse.move(one.x + 200, one.y - 10, { steps: 3 });
        await page.mouse.move(other.x + 200, other.y + 5, { steps: 5 });
        await page.mouse.up();
        await settled(page);
      };
      const before = await texts();
      await drag(4, 1);
      await page.waitForFunction(() => document.querySelector('.sheet [data-row="1"]')?.getAttribute("aria-label")?.includes("toss"));
      const [start, one, two, three, four] = before;
      assert.deepEqual(await texts(), [start, four, one, two, three]);
      assert.deepEqual(await steps(page), { step: 1, end: 4 });
      await drag(4, 2);
      await page.waitForSelector(".notice.error");
      assert.match(await page.locator(".notice.error").innerText(), /not possible before step 2/);
      assert.deepEqual(await texts(), [start, four, one, two, three]);
    },
  ));

test("a search from here ends in a branch; a refused one is a line with its help", () =>
  withPage(
    {},
    async (page, server) => {
      for (const words of VIOLATION) await take(page, words);
      await page.locator(".next h3:has-text('node 1') + ul button:has-text('propose')").click();
      await settled(page);
      server.mock.isHeld = true;
      await press(page, "/");
      await page.locator("#search-start").click();
      await page.waitForSelector(".result.running");
      assert.match(await page.locator(".result.running .promises").innerText(), /A broken promise appears once all states are explored/);
      server.mock.isHeld = false;
      await page.locator(".finding").click();
      assert.equal(await page.locator(".result .promises").count(), 0);
      await settled(page);
      assert.match(await page.locator(".properties .strip").first().innerText(), /violated/);
      await page.locator("#strategy").selectOption("broken");
      await page.locator("#search-start").click();
      await page.waitForSelector(".notice.error");
      assert.match(await page.locator(".notice.error").innerText(), /there is no strategy broken\s*host list names them/);
    },
    (response) => response.url().endsWith("/search"),
  ));

test("5,000 states are a map at a cost per state and step; a click goes to a state", () =>
  withPage({}, async (page) => {
    await press(page, "4");
    await page.waitForSelector(".map-canvas");
    const count = await counting(page);
    const shown = await count(async () => {
      await page.getByLabel("States of the map at most").selectOption("5000");
      await page.waitForFunction(() => document.querySelector(".map .note")?.textContent?.startsWith("5000 states"));
    });
    const edges = await page.evaluate(async () => (await (await fetch("api/v1/map?limit=5000")).json()).edges.length);
    const parts = 5_000 + edges;
    console.log(`5,000 states, ${edges} steps: ${JSON.stringify(shown)}`);
    // It is drawn when the request begins, when the answer is here, and perhaps once more for its size.
    assert.ok(shown.drawn >= parts && shown.drawn < 4 * parts, `${shown.drawn} lines and circles for ${parts} states and steps`);
    assert.ok(shown.blocks > parts && shown.blocks < 25 * parts, `${shown.blocks} blocks for ${parts} states and steps`);
    assert.ok(shown.answers === 1 && shown.bytes < 250 * parts, JSON.stringify(shown));
    assert.ok(shown.layouts < LAYOUTS_MAX && shown.made < 50 && shown.changed < 300, JSON.stringify(shown));
    await page.locator(".map-canvas").focus();
    for (let moves = 0; moves < 3; moves += 1) {
      const moved = await count(() => press(page, "ArrowDown"));
      // Nothing is arranged again.
      assert.ok(moved.answers === 0 && moved.blocks < 9 * parts && moved.drawn < 4 * parts, JSON.stringify(moved));
      assert.ok(moved.layouts < LAYOUTS_MAX && moved.made < 50 && moved.changed < 100, JSON.stringify(moved));
    }
    await page.keyboard.press("Enter");
    await settled(page);
    await page.waitForFunction(() => document.querySelector(".present")?.textContent?.startsWith("step 2 of"));
    assert.ok((await countElements(page)) < 2000);
  }));

test("of 1,000 steps only those in sight are drawn, and a click costs what it costs where there are few", async () => {
  const costs = [];
  for (const length of [100, 1_000]) {
    await withPage({ steps: length }, async (page) => {
      await press(page, "g");
      const count = await counting(page);
      const all = [];
      for (const key of ["j", "j", "G", "k", "g", "v", "G"]) all.push(await count(() => press(page, key)));
      for (let taken = 0; taken < 5; taken += 1) {
        all.push(
          await count(async () => {
            await take(page, "tick");
            await linked(page);
          }),
        );
      }
      assert.deepEqual(await steps(page), { step: length + 5, end: length + 5 });
      const elements = await countElements(page);
      assert.ok(elements < 2500, `${elements} elements`);
      assert.ok((await page.locator(".sheet g.event").count()) < 60);
      const most = (name) => Math.max(...all.map((counts) => counts[name]));
      costs.push(Object.fromEntries(Object.keys(all[0]).map((name) => [name, most(name)])));
      console.log(`${length} steps, at most for a click: ${JSON.stringify(costs.at(-1))}`);
    });
  }
  const [, many] = costs;
  assert.ok(many.blocks > 0 && many.blocks < 200_000, `${many.blocks} blocks`);
  assert.ok(many.made < 800 && many.changed < 1_000, `${many.made} elements made, ${many.changed} changes`);
  assert.ok(many.layouts < LAYOUTS_MAX, `${many.layouts} layouts`);
  assert.ok(many.answers < 25 && many.bytes < 80_000, `${many.bytes} bytes in ${many.answers} answers`);
});

test("a probe has a value at each of 1,000 steps, and a step more asks for one", () =>
  withPage({ steps: 1000 }, async (page) => {
    await page.locator("#probe").fill("locals.0.ticks");
    await page.locator("#probe").press("Enter");
    // The server gives at most 400 values in an answer.
    await page.waitForFunction(() => document.querySelector(".probe-name") && !document.querySelector(".probe-name .note"));
    const shown = () => page.locator('.sheet g.event:has([data-row="1000"]), .sheet g.event[data-row="1000"]').locator("text.mark, text.faint").last().textContent();
    assert.match(await shown(), /^\d+/);
    await page.locator("#probe").press("Escape");
    await settled(page);
    const asked = [];
    const note = async (response) => {
      if (response.url().includes("/probes/")) asked.push(JSON.parse(await response.text()).values.length);
    };
    page.on("response", note);
    await take(page, "tick");
    await page.waitForFunction(() => !document.querySelector(".probe-name .note"));
    await linked(page);
    page.off("response", note);
    assert.deepEqual(asked, [1]);
  }));

test("hostile names inject nothing, and letters that reverse text are shown as such", () =>
  withPage({ isHostile: true }, async (page) => {
    const text = await injectsNothing(page);
    assert.ok(text.includes("‹U+202E›"), "the letter is not shown");
  }));

test("the keyboard alone suffices", () =>
  withPage({}, async (page) => {
    await page.keyboard.press("e");
    await page.waitForSelector(".preview h3");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".present")?.textContent?.startsWith("step 1 of 1"));
    await settled(page);
    // The focus is on the next events, and the first of them is previewed.
    await page.waitForSelector(".preview h3");
    assert.equal(await page.evaluate(() => document.activeElement?.closest(".next") !== null), true);
    await press(page, "k", "j", "u", "U");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] kbd");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog"));
    await page.keyboard.press("f");
    await page.waitForFunction(() => document.activeElement?.closest(".faults") !== null);
    await page.keyboard.press("s");
    await page.waitForSelector("dialog #save-path");
    await page.locator("#save-path").press("Enter");
    await page.waitForSelector(".notice:has-text('The trace is in')");
    await press(page, "n", "c", "h", "2", "m");
    await page.waitForFunction(() => document.activeElement?.id === "moment-name");
  }));

test("a link opens the same step; a link of another cluster is refused in words", () =>
  withPage(
    {},
    async (page, server) => {
      await take(page, "propose");
      await take(page, "tails");
      await page.waitForFunction(() => location.hash.startsWith("#v1/"));
      await page.waitForFunction(() => location.hash.split("-").length === 2);
      const before = await page.locator(".present").innerText();
      await page.reload();
      await page.waitForFunction((text) => document.querySelector(".present")?.innerText === text, before);
      await page.goto(`${server.url}#other`);
      await page.waitForSelector(".notice.error");
      assert.match(await page.locator(".notice.error").innerText(), /none of this cluster\s*It is one of another version/);
    },
    (response) => response.url().endsWith("/replay"),
  ));

test("a trace that is dropped or chosen is opened", () =>
  withPage({}, async (page) => {
    const trace = JSON.stringify({ fragment: "v1/0.0-0.0" });
    await page.locator("input[type=file]").setInputFiles({ name: "trace.json", mimeType: "application/json", buffer: Buffer.from(trace) });
    await page.waitForFunction(() => document.querySelector(".present")?.textContent?.startsWith("step 2 of 2"));
    await press(page, "g");
    await page.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "trace.json", { type: "application/json" }));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, trace);
    await page.waitForFunction(() => document.querySelector(".present")?.textContent?.startsWith("step 2 of 2"));
  }));

test("a bundle opens without a server: steps, branches, writers, links", () =>
  withPage({}, async (page, server, context) => {
    for (const words of VIOLATION) await take(page, words);
    await press(page, "k", "k");
    await take(page, "tails");
    const downloads = page.waitForEvent("download");
    await page.getByRole("button", { name: "Bundle" }).click();
    const file = path.join(tmpdir(), `host-explore-${process.pid}.html`);
    await (await downloads).saveAs(file);
    await server.close();
    const recorded = await open(browser, `file://${file}`);
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 4, end: 4 });
    await press(recorded.page, "k", "[", "]", "g", "j");
    assert.equal(await recorded.page.locator(".next button.choice .been").count(), 1);
    await press(recorded.page, "k");
    await take(recorded.page, "propose");
    await recorded.page.locator(".tree-row button.field", { hasText: "proposed" }).first().click();
    await recorded.page.waitForSelector(".why-box .text");
    assert.match(await recorded.page.locator(".why-box .text").innerText(), /proposed is true since step 1/);
    await press(recorded.page, "2");
    await recorded.page.locator(".moments button:has-text('Compare'):enabled").first().click();
    await recorded.page.waitForSelector(".compare .sides");
    assert.ok((await recorded.page.locator(".compare .tree-row.changed").count()) > 0);
    await press(recorded.page, "1");
    assert.ok((await recorded.page.locator(".next button.choice:disabled").count()) > 3);
    await recorded.page.locator(".flight button.choice").first().click();
    await recorded.page.waitForSelector(".notice.error");
    assert.match(await recorded.page.locator(".notice.error").innerText(), /is a recording/);
    await recorded.page.waitForFunction(() => location.hash === "#place-1");
    await recorded.end();
    await rm(file);
  }));

test("exactly 5,000 steps are a bundle and a link; with one more, the address is no link and a bundle is refused", () =>
  withPage({ steps: 5000 }, async (page, server) => {
    assert.deepEqual(await steps(page), { step: 5000, end: 5000 });
    await linked(page);
    const fragment = await page.evaluate(() => location.hash);
    assert.equal(fragment.split("-").length, 5000);
    const downloads = page.waitForEvent("download");
    await press(page, "b");
    const file = path.join(tmpdir(), `host-explore-long-${process.pid}.html`);
    await (await downloads).saveAs(file);
    await take(page, "tick");
    await page.waitForFunction(() => location.hash === "");
    await press(page, "b");
    await page.waitForSelector(".notice.error:has-text('at most 5000 steps, and this branch has 5001')");
    // The link is that of the step, also after the session has grown.
    await page.goto(`${server.url}${fragment}`);
    await page.waitForFunction(() => document.querySelector(".present")?.textContent?.startsWith("step 5000 of"));
    const recorded = await open(browser, `file://${file}`);
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 5000, end: 5000 });
    await press(recorded.page, "g", "j");
    assert.deepEqual(await steps(recorded.page), { step: 1, end: 5000 });
    assert.ok((await recorded.page.locator(".tree-row").count()) > 3);
    await recorded.end();
    await rm(file);
  }));

test("a server that is gone is said, and the page stays", () =>
  withPage({}, async (page, server) => {
    await take(page, "propose");
    // Its last request is the one for the link of the step.
    await linked(page);
    await server.close();
    await page.keyboard.press("k");
    await page.waitForSelector(".notice.ended");
    assert.match(await page.locator(".notice.ended").innerText(), /host explore has ended, or the connection is lost; what you saved is there/);
    assert.ok((await page.locator(".tree-row").count()) > 5);
  }));

test("a server that is suspended is said, until it answers", () =>
  withPage({}, async (page) => {
    await take(page, "propose");
    await linked(page);
    // From here on only the test moves the time.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    let answer;
    await page.route("**/take", async (route) => {
      await new Promise((resolve) => (answer = resolve));
      await route.continue();
    });
    const asked = page.waitForRequest("**/take");
    await page.locator(".next button.choice", { hasText: "heads" }).click();
    await asked;
    await page.clock.fastForward(7_000);
    assert.equal(await page.locator(".notice.slow").count(), 0);
    await page.clock.fastForward(2_000);
    await page.waitForSelector(".notice.slow");
    assert.ok((await page.locator(".tree-row").count()) > 5, "the last state is shown");
    answer();
    await page.clock.resume();
    await page.waitForFunction(() => !document.querySelector(".notice.slow"));
    assert.deepEqual(await steps(page), { step: 2, end: 2 });
  }));

test("a connection that is lost and comes back loses nothing", () =>
  withPage({}, async (page, server, context) => {
    for (const words of ["propose", "heads"]) await take(page, words);
    await press(page, "k");
    await take(page, "tails");
    await press(page, "x");
    await page.locator("#probe").fill("locals.0.proposed");
    await page.locator("#probe").press("Enter");
    await page.waitForSelector(".probe-name");
    await page.locator("#probe").press("Escape");
    await press(page, "m");
    await page.locator("#moment-name").fill("before the sleep");
    await page.locator("#moment-name").press("Enter");
    await page.waitForSelector(".moments li.here:has-text('before the sleep')");
    await page.locator("#moment-name").press("Escape");
    server.mock.isHeld = true;
    await press(page, "/");
    await page.locator("#search-start").click();
    await page.waitForSelector(".result.running");
    await linked(page);
    // The progress of the search is asked for without an answer; moves, a comparison and a step are lost.
    await context.setOffline(true);
    await page.waitForSelector(".notice.ended");
    await page.locator(".moments button:has-text('Compare'):enabled").first().click();
    await page.locator(".next button.choice").first().click();
    await settled(page);
    await page.waitForSelector(".compare");
    assert.equal(await page.locator(".sides .first-difference").count(), 0);
    await context.setOffline(false);
    // Without any move.
    await page.waitForFunction(() => !document.querySelector(".notice.ended"));
    await page.waitForSelector(".sides .first-difference");
    server.mock.isHeld = false;
    await page.waitForFunction(() => document.querySelector(".result") && !document.querySelector(".result.running"));
    await press(page, "2");
    await page.waitForSelector(".moments li:has-text('before the sleep')");
    await press(page, "1");
    assert.deepEqual(await steps(page), { step: 2, end: 2 });
    await take(page, "tick");
    assert.equal(await page.locator(".probe-name").count(), 1);
    await linked(page);
    await press(page, "j");
    assert.deepEqual(await steps(page), { step: 3, end: 3 });
  }));

test("a page that loses its connection while it loads begins when it is back", () =>
  withPage({ trace: "violation" }, async (page, server, context) => {
    let isCut = true;
    await context.route("**/api/v1/session", (route) => (isCut ? route.abort() : route.continue()));
    await page.reload();
    await page.waitForSelector(".notice.ended");
    assert.equal(await page.locator("main").count(), 0);
    isCut = false;
    await page.waitForSelector(".sheet g.event.now");
    await settled(page);
    assert.deepEqual(await steps(page), { step: 10, end: 10 });
  }));

test("a second tab has a place of its own, and sees the branches of the first", () =>
  withPage({}, async (page, server, context) => {
    await take(page, "propose");
    const other = await context.newPage();
    await other.goto(server.url);
    await other.waitForSelector("section.next");
    await settled(other);
    assert.deepEqual(await steps(other), { step: 0, end: 0 });
    await take(other, "heads");
    await take(other, "tick");
    assert.deepEqual(await steps(page), { step: 1, end: 1 });
    await press(page, "2");
    assert.equal(await page.locator(".tree-drawing .lane").count(), 2);
    await page.locator(".moments button.choice", { hasText: "step 2: node 0: tick" }).click();
    await settled(page);
    assert.deepEqual(await steps(page), { step: 2, end: 2 });
    assert.deepEqual(await steps(other), { step: 2, end: 2 });
  }));

test("of requests that overlap, the latest wins", () =>
  withPage({ steps: 30 }, async (page) => {
    await page.waitForFunction(() => document.querySelector(".sheet g.event.now"));
    // The answers wait, and come in the opposite order of the requests.
    const waiting = [];
    await page.route("**/places/*", (route) => waiting.unshift(route));
    for (const key of ["k", "k", "k", "k", "g"]) await page.keyboard.press(key);
    await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 0 of 30");
    while (waiting.length > 0) {
      const route = waiting.shift();
      const answered = page.waitForResponse(route.request().url());
      await route.continue();
      await answered;
    }
    await page.unrouteAll({ behavior: "wait" });
    await settled(page);
    assert.deepEqual(await steps(page), { step: 0, end: 30 });
    assert.equal(await page.locator(".states .tree-row.changed").count(), 0);
  }));

test("the page is drawn in the dark, and narrow", () =>
  withPage({}, async (page) => {
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(15, 23, 42)");
    await page.setViewportSize({ width: 500, height: 800 });
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
    assert.equal(isWide, false, "the page scrolls sideways");
  }));

test("the checks for any server pass with the mock", async () => {
  const server = await serve({});
  try {
    const child = spawn(process.execPath, [path.join(here, "drive.mjs"), server.url, "--write"], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(code, 0, output);
  } finally {
    await server.close();
  }
});
