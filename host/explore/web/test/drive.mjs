// Drives the page of any server with the API: node test/drive.mjs URL [--dist]. Exits with 1 if a check fails.
// With --dist the page is the one of dist/ here, and only the answers are those of the server.
// With --write a scenario and a trace are saved in the folder of the server.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { countElements, launch, linked, open, press, settled, steps } from "./browser.mjs";

const url = process.argv[2];
const isWriting = process.argv.includes("--write");
if (!url) throw new Error("the address of the page is missing");
const STEPS = 6;
const ELEMENTS_MAX = 20_000;

const checks = [
  ["events are previewed and taken by click", clicks],
  ["undo and redo return", undo],
  ["another event makes a branch, and the two are compared", compare],
  ["a moment gets a name", name],
  ["the address of the page opens the same step", link],
  ["questions are answered", why],
  ["the map is drawn, and leads to a state", map],
  ["a search is shown until it ends", search],
  ["what a search found has rings, and says what the property reads", found],
  ["seeds from here are tried", seeds],
  ["a node has a graph of its own", local],
  ...(isWriting ? [["the steps are saved as a scenario and as a trace", save]] : []),
  ["a bundle opens offline at the same step", bundle],
  ["every control has a name", names],
  ["the page is within its bounds", bounds],
];

const browser = await launch();
let failed = 0;
const session = await open(browser, url, { isOwnDist: process.argv.includes("--dist") });
for (const [text, check] of checks) {
  try {
    await check(session.page);
    console.log(`ok    ${text}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILS ${text}\n      ${String(error.message).split("\n").join("\n      ")}`);
  }
}
try {
  await session.end();
  console.log("ok    no request leaves the origin, no script fails, no request is refused");
} catch (error) {
  failed += 1;
  console.log(`FAILS ${error.message}`);
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);

async function clicks(page) {
  await press(page, "g");
  const choices = page.locator(".next > ul button.choice");
  for (let count = 0; count < STEPS && (await choices.count()) > 0; count += 1) {
    const { step } = await steps(page);
    await choices.first().hover();
    await page.waitForSelector(".preview code");
    await choices.first().click();
    await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), step + 1);
    await settled(page);
  }
  assert.ok((await steps(page)).step > 0, "no event was enabled at the start");
  assert.equal(await page.locator(".sheet g.event.now").count(), 1);
}

async function undo(page) {
  const before = await steps(page);
  await page.getByRole("button", { name: "Undo" }).click();
  await settled(page);
  assert.notDeepEqual(await steps(page), before);
  await page.getByRole("button", { name: "Redo" }).click();
  await settled(page);
  assert.deepEqual(await steps(page), before);
}

async function compare(page) {
  const { step } = await steps(page);
  for (let back = step - 1; back >= 0; back -= 1) {
    await press(page, "k");
    const other = page.locator(".next > ul li:not(:has(.been)) button.choice").first();
    if ((await other.count()) === 0) continue;
    await other.click();
    await settled(page);
    await press(page, "2");
    await page.locator(".moments button:has-text('Compare'):enabled").first().click();
    await page.waitForSelector(".sides .first-difference");
    return press(page, "1");
  }
  throw new Error("no step had another enabled event");
}

async function name(page) {
  await press(page, "m");
  await page.locator("#moment-name").fill("here it parts");
  await page.locator("#moment-name").press("Enter");
  await page.waitForSelector(".moments li:has-text('here it parts')");
  await press(page, "Escape", "1");
}

async function link(page) {
  const before = await page.locator(".present").innerText();
  await linked(page);
  await page.reload();
  await page.waitForSelector(".sheet g.event.now");
  await settled(page);
  assert.equal(await page.locator(".present").innerText(), before);
}

async function why(page) {
  const field = page.locator(".states .tree-row button.field").first();
  await field.click();
  await page.waitForSelector(".why-box .text");
  await press(page, "Escape");
  const message = page.locator(".flight button.choice").first();
  if ((await message.count()) === 0) return;
  await message.click();
  await page.waitForSelector(".why-box .text");
  assert.ok((await page.locator(".why-box .text").innerText()).length > 0);
  await press(page, "Escape");
}

async function map(page) {
  await press(page, "4");
  await page.waitForSelector(".map-canvas");
  await page.locator(".map-canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector(".chosen");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal((await steps(page)).step, 1, "the second level is one step from the start");
  await press(page, "1");
}

async function search(page) {
  await press(page, "g", "/");
  await page.getByLabel("Seconds").fill("2");
  await page.locator("#search-start").click();
  await page.waitForSelector(".result");
  await page.waitForFunction(() => !document.querySelector(".result.running"));
  assert.ok(!(await page.locator(".result.failed").count()), await page.locator(".result").first().innerText());
}

async function found(page) {
  const finding = page.locator(".result .finding").first();
  if ((await finding.count()) === 0) return;
  await finding.click();
  await settled(page);
  await page.waitForSelector(".sheet g.event.now");
  await page.waitForSelector(".now.violated");
  assert.ok((await page.locator(".sheet .reads").count()) > 0, "no step changes what the violated property reads");
  assert.ok((await page.locator(".words li").count()) > 0, "the step has no words");
}

async function seeds(page) {
  await press(page, "g", "/");
  await page.getByLabel("Seeds", { exact: true }).fill("20");
  await page.getByRole("button", { name: "Try" }).click();
  await page.waitForSelector(".result .seeds");
  await page.waitForFunction(() => !document.querySelector(".result.running"));
  assert.match(await page.locator(".result .seeds").first().innerText(), /^\s*\d+ of \d+ violate/);
}

async function local(page) {
  await press(page, "Escape", "4");
  await page.getByLabel("Whose states").selectOption({ index: 1 });
  await page.waitForFunction(() => /^\d+ states/.test(document.querySelector(".map .note")?.textContent ?? ""));
  const states = Number(/^\d+/.exec(await page.locator(".map .note").first().innerText())?.[0]);
  assert.ok(states > 1, `${states} states`);
  assert.equal(await page.locator(".notice.error").count(), 0);
  await press(page, "1");
}

async function save(page) {
  // A test expects a violation or a broken promise.
  const finding = page.locator(".result .finding").first();
  const isFound = (await finding.count()) > 0;
  if (isFound) await finding.click();
  await settled(page);
  for (const extension of isFound ? ["toml", "json"] : ["json"]) {
    await press(page, "s");
    await page.locator("#save-path").fill(`explored-by-a-test-${process.pid}-${extension}.${extension}`);
    await page.locator("#save-path").press("Enter");
    await page.waitForSelector(`.notice:has-text('.${extension}')`);
    await page.waitForFunction(() => !document.querySelector("dialog"));
  }
  assert.equal(await page.locator(".notice.error").count(), 0);
}

async function bundle(page) {
  const before = await page.locator(".present").innerText();
  const downloads = page.waitForEvent("download");
  await press(page, "b");
  const file = path.join(tmpdir(), `host-explore-drive-${process.pid}.html`);
  await (await downloads).saveAs(file);
  const recorded = await open(browser, `file://${file}`);
  await recorded.context.setOffline(true);
  await settled(recorded.page);
  assert.equal(await recorded.page.locator(".present").innerText(), before);
  await press(recorded.page, "g", "j", "G");
  await recorded.end();
  await rm(file);
}

async function names(page) {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, a, [tabindex]")]
      .filter((element) => element.getAttribute("type") !== "hidden" && element.getAttribute("tabindex") !== "-1")
      .filter((element) => {
        const label = element.closest("label")?.textContent ?? "";
        return !(element.textContent?.trim() || element.getAttribute("aria-label") || element.getAttribute("title") || label.trim());
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(nameless, []);
}

async function bounds(page) {
  const elements = await countElements(page);
  assert.ok(elements < ELEMENTS_MAX, `${elements} elements`);
}
