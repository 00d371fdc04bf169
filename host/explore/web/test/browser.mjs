// Chromium with the page in it, and what it must never do.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../inspect/src/page/dist");
/** The only time-out of page tests: they wait for what the page shows, however slow the machine is. */
const WAIT_MS = 120_000;
/** Chromium sometimes ends while it starts, with nothing to say about it. */
const STARTS = 4;
const NAMES = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser, as a path or in one of the folders of PATH. */
function executable() {
  const folders = (process.env.PATH ?? "").split(":");
  const paths = NAMES.filter(Boolean).flatMap((name) => (name.includes("/") ? [name] : folders.map((folder) => `${folder}/${name}`)));
  return paths.find((file) => existsSync(file));
}

/** Starts the browser, and starts it again if it ends before it is ready. */
export async function launch(start = (options) => chromium.launch(options)) {
  const options = { executablePath: executable(), args: ["--no-sandbox"] };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(options);
    } catch (error) {
      if (attempt === STARTS) throw error;
      console.log(`# the browser did not start, attempt ${attempt} of ${STARTS}`);
    }
  }
}

/** Opens the page; `end` closes it and fails if it did what it must not. */
export async function open(browser, url, { colorScheme = "light", isRefused = () => false, isOwnDist = false } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  // The files as they were built here, for a server that has older ones.
  if (isOwnDist) {
    for (const name of ["app.js", "app.css"]) await page.route(`**/${name}`, (route) => route.fulfill({ path: path.join(dist, name) }));
  }
  const { origin } = new URL(url);
  const wrong = [];
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (to.origin !== origin && to.protocol !== "data:") wrong.push(`a request leaves the origin: ${request.url()}`);
  });
  page.on("pageerror", (error) => wrong.push(`a script fails: ${error.message}`));
  page.on("console", (message) => {
    // The browser reports answers other than 200 itself; the page shows them.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) wrong.push(`the console says: ${message.text()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && !isRefused(response)) wrong.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector("section.next");
  const end = async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  };
  return { page, context, end };
}

/** Waits until no request is under way and the page shows the state of its place. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".busy")?.textContent === "" && !document.querySelector(".panel.stale"));
}

/** Waits until the address of the page is that of the present step. */
export async function linked(page) {
  await page.waitForFunction(() => String(history.state) === document.querySelector(".present")?.dataset.place);
}

/** Waits until the page was painted with everything that has happened so far. */
export async function drawn(page) {
  await settled(page);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))));
}

/** The number of the present step, and of the last one of the branch. */
export async function steps(page) {
  const text = await page.locator(".present").innerText();
  const [, step, end] = /step (\d+) of (\d+)/.exec(text) ?? [];
  return { step: Number(step), end: Number(end) };
}

export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}

/** Takes an enabled event whose text has these words. */
export async function take(page, words) {
  const before = await steps(page);
  await page.locator(".next button.choice", { hasText: words }).first().click();
  await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), before.step + 1);
  await settled(page);
}

export async function countElements(page) {
  return page.evaluate(() => document.querySelectorAll("*").length);
}

/** Goes through a page of hostile texts: nothing in them acts. Returns the document as HTML. */
export async function injectsNothing(page) {
  await page.locator(".next button.choice").first().click();
  await settled(page);
  for (const key of ["2", "3", "4", "1"]) await press(page, key);
  await drawn(page);
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => document.scripts.length), 1);
  const html = await page.evaluate(() => document.documentElement.outerHTML);
  assert.doesNotMatch(html, /[\u0000-\u0008\u000b-\u001f\u009b\u202e\u2028]/, "a character that acts is in the page");
  return html;
}
