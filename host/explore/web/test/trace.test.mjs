// A trace in the page: its finding, what the violated property reads, cycles; the same in a bundle; on paper; searches by seeds.

import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import { open, press, settled, steps } from "./browser.mjs";
import { browser, withPage } from "./session.mjs";

/** The bundle of a page, as a file; the server ends. */
async function bundled(page, server, name) {
  const downloads = page.waitForEvent("download");
  await press(page, "b");
  const file = path.join(tmpdir(), `host-explore-${process.pid}-${name}.html`);
  await (await downloads).saveAs(file);
  await server.close();
  return file;
}

/** What a page shows of a trace of two decisions, with and without a server. */
async function violation(page) {
  await settled(page);
  assert.match(await page.locator(".verdict .head").innerText(), /^agreement is violated: 100 and 101 are decided$/);
  await page.locator(".verdict summary").click();
  assert.match(await page.locator(".verdict").innerText(), /node 0 decided 100 since step 5/);
  // The steps that decide have rings; with the last one the violation begins.
  const ringed = await page.locator(".sheet g.event:has(.reads)").evaluateAll((rows) => rows.map((row) => row.dataset.row));
  assert.deepEqual(ringed, ["5", "10"]);
  assert.equal(await page.locator(".sheet g.event:has(.violation)").getAttribute("data-row"), "10");
  assert.match(await page.locator('.sheet [data-row="5"] .change.bad').textContent(), /^decided: /);
  assert.match(await page.locator('.sheet [data-row="5"]').getAttribute("aria-label"), /changes what the violated property reads/);
  assert.match(await page.locator(".words").innerText(), /Step 10\s+changes what the violated property reads/);
  assert.deepEqual(await page.locator(".tree-row.read .field").allInnerTexts(), ["decided:", "0:"]);
  assert.match(await page.locator(".reader").first().getAttribute("title"), /Read by agreement, which does not hold/);
  assert.match(await page.locator(".dividers").textContent(), /end of the prefix/);
  await press(page, "g");
  assert.match(await page.locator(".words").innerText(), /Start\s+all nodes are as their init left them/);
  assert.equal(await page.locator(".tree-row.read").count(), 0, "at the start nothing is violated");
  await press(page, "?");
  assert.match(await page.locator("dialog .about").innerText(), /replay\s*host replay found\/trace.json/);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
}

test("a trace of a violation says what the property reads and which steps change it, also offline", () =>
  withPage({ trace: "violation" }, async (page, server, context) => {
    await violation(page);
    await press(page, "G");
    const file = await bundled(page, server, "violation");
    await context.setOffline(true);
    const recorded = await open(browser, `file://${file}`);
    await recorded.context.setOffline(true);
    await violation(recorded.page);
    await recorded.page.goto(`file://${file}#step-5`);
    await recorded.page.reload();
    await recorded.page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 5 of 10");
    await recorded.end();
    await rm(file);
  }));

/** What a page shows of a promise that a cycle breaks. */
async function promise(page) {
  await settled(page);
  assert.match(await page.locator(".dividers").textContent(), /what follows happens again and again.*and again from step 3 on, for ever/);
  await page.locator(".verdict button", { hasText: "Critical step 2" }).click();
  await settled(page);
  assert.deepEqual(await steps(page), { step: 2, end: 4 });
  assert.match(await page.locator(".words .badge").innerText(), /^the critical step: before it, node 0 could still decide$/);
  await page.waitForSelector('.sheet [data-row="2"] .reads');
  assert.deepEqual(await page.locator(".tree-row.read .field").allInnerTexts(), ["decided:"], "what is owed is read, too");
  assert.match(await page.locator(".sibling").innerText(), /in place of step 2, these 4 keep the promise/);
  await page.locator(".sibling button").click();
  await page.waitForSelector(".sides .first-difference");
  assert.match(await page.locator(".compare").innerText(), /The first step is shared/);
  assert.deepEqual(await page.locator(".sides section li").evaluateAll((all) => all.length), 7);
  await press(page, "1");
}

test("a broken promise has its cycle, its critical step and both continuations, also offline", () =>
  withPage({ trace: "promise" }, async (page, server) => {
    await promise(page);
    assert.equal(await page.locator(".gap").count(), 1, "a reset is a gap in the lifeline");
    assert.equal(await page.locator(".life-end").count(), 1, "a crashed node has an end");
    const file = await bundled(page, server, "promise");
    const recorded = await open(browser, `file://${file}`);
    await promise(recorded.page);
    await recorded.end();
    await rm(file);
  }));

test("a bundle without events that are enabled, or with sparse places, lists the recorded steps", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    const file = await bundled(page, server, "sparse");
    const html = await readFile(file, "utf8");
    const [, text] = /<script type="application\/json" id="recording">(.*?)<\/script>/s.exec(html);
    const packed = JSON.parse(text);
    const far = (place) => (place === null || place === 0 ? place : place + 1000);
    for (const state of packed.states) {
      delete state.enabled;
      delete state.children;
      state.step.place = far(state.step.place);
      state.step.parent = far(state.step.parent);
      for (const message of state.step.event?.received ?? []) message.sent = far(message.sent);
    }
    for (const value of packed.pool) if (value.sent) value.sent = far(value.sent);
    packed.session.line = packed.session.line.map(far);
    packed.session.place = 0;
    packed.session.marks = [];
    await writeFile(file, html.replace(text, () => JSON.stringify(packed).replaceAll("<", "\\u003c")));
    const recorded = await open(browser, `file://${file}`);
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 0, end: 10 });
    assert.equal(await recorded.page.locator(".next button.choice:enabled").count(), 1);
    await recorded.page.locator(".next button.choice").click();
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 1, end: 10 });
    // Every message is received by the step that received it before.
    assert.equal(await recorded.page.locator(".sheet .arrow").count(), 8);
    await press(recorded.page, "G");
    assert.match(await recorded.page.locator(".next").innerText(), /The recording has no further step/);
    await recorded.end();
    await rm(file);
  }));

test("a bundle can be read without a script, and has one script and one style", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    const file = await bundled(page, server, "still");
    const context = await browser.newContext({ javaScriptEnabled: false });
    const still = await context.newPage();
    await still.goto(`file://${file}`);
    const text = await still.locator("body").innerText();
    assert.match(text, /agreement is violated[\s\S]*node 1 <- node 0: \{Vote:101/);
    await context.close();
    const html = await readFile(file, "utf8");
    assert.equal(html.match(/<\/(script|style)>/g).length, 3, "more ends than those of a style, a recording, a script");
    assert.ok(!/(src|href)="(?!data:)/.test(html.split("<body>")[0]), "the head asks for a file");
    await rm(file);
  }));

test("on paper all steps are listed, and nothing is cut or dark", () =>
  withPage({ trace: "violation" }, async (page) => {
    await page.setViewportSize({ width: 900, height: 500 });
    await page.emulateMedia({ colorScheme: "dark", media: "print" });
    await page.waitForSelector(".printed li:nth-child(11)");
    assert.match(await page.locator(".printed").innerText(), /node 1 <- node 0: \{Vote:101/);
    assert.match(await page.locator(".printed").innerText(), /node 0 decided 100 since step 5/);
    assert.equal(await page.locator(".sheet g.event").count(), 11);
    assert.equal(await page.locator(".panel").first().isVisible(), false);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await page.emulateMedia({ media: "screen" });
    await page.waitForFunction(() => !document.querySelector(".printed"));
  }));

test("a kind of messages is hidden, and moves pass over its steps", () =>
  withPage({ trace: "violation" }, async (page) => {
    await press(page, "g", "j", "j", "t");
    await page.waitForFunction(() => document.querySelectorAll(".sheet .arrow").length === 4);
    assert.equal(await page.locator(".sheet g.event.outside").count(), 4);
    await press(page, "j");
    assert.deepEqual(await steps(page), { step: 4, end: 10 });
    await page.locator(".kinds input").first().check();
    await page.waitForFunction(() => document.querySelectorAll(".sheet .arrow").length === 8);
    await page.locator(".kinds summary").click();
    await press(page, "k");
    assert.deepEqual(await steps(page), { step: 3, end: 10 });
  }));

test("seeds from here: how many violate, and the shortest as a branch, while they run", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    server.mock.isHeld = true;
    await press(page, "g", "/");
    await page.getByLabel("Seeds", { exact: true }).fill("60");
    await page.getByRole("button", { name: "Try" }).click();
    // A finding is listed, and can be opened, before the search ends.
    await page.waitForSelector(".result.running .finding");
    await page.locator(".result.running .finding").click();
    await settled(page);
    assert.match(await page.locator(".properties .strip").first().innerText(), /violated/);
    server.mock.isHeld = false;
    await page.waitForSelector(".result.done");
    assert.match(await page.locator(".seeds").innerText(), /^\s*[1-9]\d* of 60 violate a property$/);
    assert.match(await page.locator(".finding .note").innerText(), /\d+ steps, shortest of [1-9]\d* seeds?/);
  }));

test("a search that found nothing offers executions with different ends", () =>
  withPage({ isCorrect: true }, async (page) => {
    await press(page, "/");
    await page.locator("#search-start").click();
    await page.waitForSelector(".result .end");
    assert.match(await page.locator(".result").innerText(), /Nothing is violated. Executions with different ends/);
    await page.locator(".result .end").first().click();
    await settled(page);
    assert.deepEqual(await steps(page), { step: 1, end: 1 });
    assert.equal(await page.locator(".result .end").count(), 3);
  }));

test("Stop ends a search", () =>
  withPage({}, async (page, server) => {
    await page.clock.install();
    await press(page, "/");
    await page.locator("#strategy").selectOption("walk");
    await page.locator("#search-start").click();
    await page.waitForSelector(".result.running");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.waitForSelector(".result.stopped");
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    const polls = server.mock.searches[0].polls;
    await page.clock.fastForward(60_000);
    await settled(page);
    assert.equal(server.mock.searches[0].polls, polls, "a search that has ended is asked for");
  }));

test("the graph of one node is smaller than the map, and has a ring where the node is", () =>
  withPage({ trace: "violation" }, async (page) => {
    await press(page, "4");
    await page.waitForFunction(() => /^1000 states, nearest first/.test(document.querySelector(".map .note")?.textContent ?? ""));
    await page.getByLabel("Whose states").selectOption({ label: "node 2" });
    await page.waitForFunction(() => /^\d+ states/.test(document.querySelector(".map .note")?.textContent ?? "") && !/1000/.test(document.querySelector(".map .note").textContent));
    const count = Number(/^\d+/.exec(await page.locator(".map .note").first().innerText())[0]);
    assert.ok(count > 3 && count < 300, `${count} states of one node`);
    await page.locator(".map-canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.match(await page.locator(".chosen").innerText(), /state \d+, level 1, after node 2/);
  }));

test("a violation is saved as a scenario; what is refused is said in the dialog", () =>
  withPage(
    { trace: "violation" },
    async (page) => {
      await press(page, "k", "s");
      await page.getByLabel(/a scenario/).check();
      assert.equal(await page.locator("#save-path").inputValue(), "explored.toml");
      await page.locator("#save-path").press("Enter");
      await page.waitForSelector("dialog .notice.error");
      assert.match(await page.locator("dialog .notice.error").innerText(), /no property is violated after this step\s+Go to the step/);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog"));
      await press(page, "j", "s");
      await page.getByLabel(/a scenario/).check();
      const asked = page.waitForRequest("**/scenario");
      await page.locator("#save-path").press("Enter");
      assert.equal((await asked).method(), "POST");
      await page.waitForSelector(".notice:has-text('The scenario is in explored.toml')");
    },
    (response) => response.url().endsWith("/scenario"),
  ));
