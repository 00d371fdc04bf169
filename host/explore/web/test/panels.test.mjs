// State trees, files and links: what the buttons around the drawing do.

import assert from "node:assert/strict";
import { readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import { drawn, linked, open, press, settled, steps, take } from "./browser.mjs";
import { browser, withPage } from "./session.mjs";

const treeOf = (page, node) => page.locator(".states .tree", { has: page.locator(`.shut:has-text('node ${node}')`) });

test("states are compared with the step before, the node's last event, another branch", () =>
  withPage({}, async (page) => {
    for (const words of ["propose", "heads", "from node 0: {Ask:100}"]) await take(page, words);
    const changes = (node) => treeOf(page, node).locator(".tree-row.changed").allInnerTexts();
    const words = (all) => all.map((text) => text.replace(/\s+/g, ""));
    // Step 3 is of node 0.
    assert.deepEqual(words(await changes(0)), ["~changed:vote:null→100"]);
    assert.deepEqual(await changes(2), []);
    await page.getByLabel("Compare the states with").selectOption("event");
    await settled(page);
    await page.waitForFunction(() => document.querySelectorAll(".states .tree-row.changed").length === 2);
    assert.deepEqual(words(await changes(2)), ['~changed:coin:null→"heads"']);
    assert.match(await treeOf(page, 2).locator("h3").innerText(), /step 2/);
    assert.match(await treeOf(page, 1).locator("h3").innerText(), /start/);
    // Another branch, which node 2 tosses otherwise in.
    await press(page, "g", "j");
    await take(page, "tails");
    await page.getByLabel("Compare the states with").selectOption({ label: "step 3: node 0 <- node 0: {Ask:100}" });
    await page.waitForFunction(() => document.querySelectorAll(".states .tree-row.changed").length === 2);
    assert.deepEqual(words(await changes(2)), ['~changed:coin:"heads"→"tails"']);
    assert.deepEqual(words(await changes(0)), ["~changed:vote:100→null"]);
    assert.match(await treeOf(page, 1).locator("h3").innerText(), /equal/);
    await press(page, "c");
    assert.equal(await page.locator(".states .tree-row:not(.changed)").count(), 0);
    assert.equal(await treeOf(page, 1).locator(".note", { hasText: "no change" }).count(), 1);
  }));

test("a row of a state closes and opens, and so does a node", () =>
  withPage({ trace: "violation" }, async (page) => {
    const tree = treeOf(page, 0);
    const texts = async () => (await tree.locator(".tree-row .field").allInnerTexts()).join(" ");
    assert.match(await texts(), /seen: 100: 0: 1: decided:/);
    const toggle = tree.getByRole("button", { name: "Close seen", exact: true });
    assert.equal(await toggle.getAttribute("aria-expanded"), "true");
    await toggle.click();
    assert.match(await texts(), /seen: decided:/);
    await tree.getByRole("button", { name: "Open seen", exact: true }).click();
    await tree.getByRole("button", { name: "Close seen.100", exact: true }).click();
    assert.match(await texts(), /seen: 100: decided:/);
    // It stays closed in the next step.
    await press(page, "k");
    assert.match(await texts(), /seen: 100: decided:/);
    await tree.locator(".shut").click();
    assert.equal(await tree.locator(".tree-row").count(), 0);
    assert.equal(await tree.locator(".shut").getAttribute("aria-expanded"), "false");
    await tree.locator(".shut").press("Enter");
    assert.ok((await tree.locator(".tree-row").count()) > 5);
  }));

test("Download gives the trace of the present step", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    await press(page, "k", "k");
    const downloads = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download" }).click();
    const download = await downloads;
    assert.equal(download.suggestedFilename(), "trace.json");
    const trace = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.deepEqual(trace, server.mock.link(8));
    // The same file opens again.
    await press(page, "g");
    await page.locator("input[type=file]").setInputFiles(await download.path());
    await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 8 of 8");
  }));

test("Copy link puts the address of the step on the clipboard, and says so; without access it says where it is", () =>
  withPage({ trace: "violation" }, async (page, server, context) => {
    await press(page, "k");
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(server.url).origin });
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.waitForSelector(".notice:has-text('The link is copied')");
    const address = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(address, `${server.url}#${server.mock.link(9).fragment}`);
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("denied"));
    });
    await press(page, "l");
    await page.waitForSelector(".notice:has-text('no access to the clipboard')");
  }));

test("a bundle of more places than are recorded of all branches has the branch that is shown", () =>
  withPage({ steps: 600 }, async (page, server) => {
    await press(page, "k");
    await take(page, "heads");
    await press(page, "[", "g");
    await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 0 of 600");
    const downloads = page.waitForEvent("download");
    await page.keyboard.press("b");
    const file = path.join(tmpdir(), `host-explore-${process.pid}-long.html`);
    await (await downloads).saveAs(file);
    await server.close();
    const { size } = await stat(file);
    console.log(`a bundle of 601 places: ${(size / 1e6).toFixed(1)} MB`);
    assert.ok(size < 4e6, `${size} bytes`);
    const recorded = await open(browser, `file://${file}`);
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 0, end: 600 });
    await press(recorded.page, "G", "k", "j");
    assert.deepEqual(await steps(recorded.page), { step: 600, end: 600 });
    await press(recorded.page, "2");
    assert.equal(await recorded.page.locator(".tree-drawing .lane").count(), 1);
    await recorded.end();
    await rm(file);
  }));

test("after more than 5,000 steps no bundle is begun, and the link is made when it is asked for", () =>
  withPage({ steps: 5_001 }, async (page, server) => {
    await linked(page);
    assert.equal(page.url(), server.url);
    const asked = [];
    page.on("request", (request) => asked.push(request.url().replace(server.url, "")));
    await press(page, "b");
    await page.waitForSelector(".notice:has-text('at most 5000 steps'):has-text('host minimize')");
    await press(page, "l");
    await page.waitForFunction(() => location.hash !== "");
    assert.equal(page.url(), `${server.url}#${server.mock.link(5_001).fragment}`);
    assert.equal(asked.filter((name) => name.endsWith("/link")).length, 1, String(asked));
    // The states in sight are asked for in advance.
    assert.ok(asked.length < 100, String(asked.length));
    await press(page, "k");
    await linked(page);
    assert.equal(page.url(), `${server.url}#${server.mock.link(5_000).fragment}`);
  }));

test("hostile names inject nothing into a bundle", () =>
  withPage({ isHostile: true }, async (page, server) => {
    for (let step = 0; step < 4; step += 1) {
      await page.locator(".next button.choice").first().click();
      await settled(page);
    }
    // Ends of elements and of scripts in names, as a person may give them.
    await page.keyboard.press("m");
    await page.locator("#moment-name").fill("</script><script>window.injected = true</script><!--<script>");
    await page.locator("#moment-name").press("Enter");
    await settled(page);
    await page.locator("#moment-name").press("Escape");
    const downloads = page.waitForEvent("download");
    await page.keyboard.press("b");
    const file = path.join(tmpdir(), `host-explore-${process.pid}-hostile.html`);
    await (await downloads).saveAs(file);
    await server.close();
    const recorded = await open(browser, `file://${file}`);
    await settled(recorded.page);
    assert.deepEqual(await steps(recorded.page), { step: 4, end: 4 });
    for (const key of ["g", "j", "2", "3", "1", "?", "Escape"]) await recorded.page.keyboard.press(key);
    await drawn(recorded.page);
    assert.equal(await recorded.page.evaluate(() => window.injected), undefined);
    assert.equal(await recorded.page.locator("img").count(), 0);
    assert.equal(await recorded.page.evaluate(() => document.scripts.length), 2);
    assert.match(await recorded.page.locator(".sheet").innerHTML(), /&lt;\/script&gt;/);
    // Neither do they without a script.
    const context = await browser.newContext({ javaScriptEnabled: false });
    const still = await context.newPage();
    await still.goto(`file://${file}`);
    assert.equal(await still.locator("body img").count(), 0);
    await context.close();
    await recorded.end();
    await rm(file);
  }));
