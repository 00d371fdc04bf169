// The page of a running `host explore` in one scene: node test/real.mjs SCENE '{"url": …}'. tests/cli/explore/browser.rs starts the
// sessions, checks what is left of them afterwards, and runs each scene.

import assert from "node:assert/strict";
import { createServer } from "node:http";

import { countElements, injectsNothing, launch, linked, open, press, settled, steps } from "./browser.mjs";
import { answersTo } from "./work.mjs";

const SCENES = { elsewhere, faults, stuck, hostile, long, asleep, another };
const ELEMENTS_MAX = 5_000;
/** Answers to a click, and their bytes: fewer than steps of a long trace by far. */
const ANSWERS_MAX = 100;
const BYTES_MAX = 100_000;

const [name, text] = process.argv.slice(2);
const given = JSON.parse(text);
const browser = await launch();
await SCENES[name](given);
await browser.close();

/** Runs a scene in the page, which must do nothing that no page may do. */
async function inPage(url, run, isRefused) {
  const session = await open(browser, url, { isRefused });
  await settled(session.page);
  await run(session.page, session.context);
  await session.end();
}

/** A page of another origin that knows even the token can neither read the session, nor drive it, nor show it. */
async function elsewhere({ url }) {
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end("<!doctype html><title>another page</title><body></body>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const statuses = [];
  const asked = [];
  context.on("request", (request) => request.url().startsWith(url) && asked.push(request.method()));
  context.on("response", (response) => response.url().startsWith(url) && statuses.push(response.status()));
  const read = await page.evaluate(async (url) => {
    const take = JSON.stringify({ action: 0, outcome: 0 });
    const read = {};
    const attempt = async (name, run) => {
      try {
        read[name] = await run();
      } catch {
        read[name] = null;
      }
    };
    await attempt("fetch", async () => (await fetch(`${url}api/v1/session`)).text());
    await attempt("post", async () => (await fetch(`${url}api/v1/places/0/take`, { method: "POST", body: take })).text());
    await attempt("opaque", async () => (await fetch(`${url}api/v1/places/0/take`, { method: "POST", mode: "no-cors", body: take })).text());
    navigator.sendBeacon(`${url}api/v1/places/0/take`, take);
    const loaded = (element, source) =>
      new Promise((resolve, reject) => {
        element.onload = () => resolve("loaded");
        element.onerror = reject;
        element.src = source;
        document.body.append(element);
      });
    await attempt("script", () => loaded(document.createElement("script"), `${url}app.js`));
    await attempt("frame", async () => {
      const frame = document.createElement("iframe");
      await loaded(frame, url);
      return frame.contentDocument?.querySelector("h1")?.textContent ?? null;
    });
    await attempt("form", async () => {
      const form = Object.assign(document.createElement("form"), { method: "post", action: `${url}api/v1/places/0/take`, target: "posted", enctype: "text/plain" });
      // A body that is JSON: {"action":0,"outcome":0,"x":"="}
      form.append(Object.assign(document.createElement("input"), { name: '{"action":0,"outcome":0,"x":"', value: '"}' }));
      const frame = Object.assign(document.createElement("iframe"), { name: "posted" });
      document.body.append(frame, form);
      await new Promise((resolve) => {
        frame.onload = resolve;
        form.submit();
      });
      return frame.contentDocument?.body.textContent ?? null;
    });
    return read;
  }, url);
  const empty = (value) => value === null || value === "";
  assert.deepEqual(Object.entries(read).filter(([, value]) => !empty(value)), [], "another page has read the session");
  // A window of its own is refused as well, since a page has opened it.
  const [window] = await Promise.all([context.waitForEvent("page"), page.evaluate((url) => void open(url), url)]);
  await window.waitForLoadState();
  assert.equal(await window.locator("main").count(), 0);
  // The browser passes some answers to no page.
  assert.ok(statuses.length >= 3 && statuses.every((status) => status === 403), JSON.stringify(statuses));
  assert.ok(asked.length >= 7 && asked.filter((method) => method === "POST").length >= 3, JSON.stringify(asked));
  await context.close();
  server.closeAllConnections();
  server.close();
  // The same address typed by a person is the page.
  await inPage(url, async (page) => assert.deepEqual(await steps(page), { step: 0, end: 0 }));
}

/** Clicks each event, faults among them, until a property is violated, and saves a scenario. */
async function faults({ url, events, path }) {
  await inPage(url, async (page) => {
    for (const [index, text] of events.entries()) {
      await page.evaluate(() => document.querySelectorAll("details.faults").forEach((details) => (details.open = true)));
      await page.locator(`.next button.choice[title=${JSON.stringify(text)}]`).first().click();
      await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), index + 1);
      await settled(page);
    }
    await page.waitForSelector(".properties .now.violated, .properties .strip:has-text('violated')");
    await press(page, "s");
    await page.getByLabel(/a scenario/).check();
    await page.locator("#save-path").fill(path);
    await page.locator("#save-path").press("Enter");
    await page.waitForSelector(`.notice:has-text('host test ${path}')`);
  });
}

/** A handler that fails under a click leaves a node stuck; everything before it remains usable. */
async function stuck({ url, why, place }) {
  await inPage(
    url,
    async (page) => {
      for (let step = 1; step <= place; step += 1) {
        await page.locator(".next button.choice").first().hover();
        await page.waitForSelector(".preview h3");
        await page.locator(".next button.choice").first().click();
        await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), step);
        await settled(page);
      }
      assert.match(await page.locator(".next").innerText(), /No event is enabled/);
      assert.match(await page.locator(".states").innerText(), new RegExp(why));
      await press(page, "4");
      await page.waitForFunction(() => /states/.test(document.querySelector(".map .note")?.textContent ?? ""));
      await page.getByLabel("Whose states").selectOption({ index: 1 });
      await page.waitForFunction(() => /^\d+ states/.test(document.querySelector(".map .note")?.textContent ?? ""));
      await press(page, "1", "g", "/");
      await page.locator("#search-start").click();
      await page.waitForFunction(() => document.querySelector(".result") && !document.querySelector(".result.running"));
      assert.equal(await page.locator(".result.failed").count(), 0, await page.locator(".result").innerText());
      await page.locator(".result .finding").first().click();
      await settled(page);
      assert.deepEqual(await steps(page), { step: place, end: place });
      await press(page, "k");
      assert.ok((await page.locator(".next button.choice").count()) > 0);
    },
    () => false,
  );
}

/** Names that contain markup and signs that reverse text. */
async function hostile({ url, words }) {
  await inPage(url, async (page) => {
    await injectsNothing(page);
    const shown = await page.evaluate(() => document.body.innerText);
    assert.ok(shown.includes(words), `${words} is not in ${shown.slice(0, 2_000)}`);
  });
}

/** A trace of very many steps: moves, a step more, and what is drawn. */
async function long({ url, end }) {
  await inPage(url, async (page) => {
    await page.waitForFunction((end) => document.querySelector(".present")?.textContent?.endsWith(`of ${end}`), end);
    for (const [key, step] of [["G", end], ["k", end - 1], ["g", 0], ["j", 1], ["G", end]]) {
      const start = Date.now();
      await press(page, key);
      await page.waitForFunction(([step, end]) => document.querySelector(".present")?.textContent === `step ${step} of ${end}`, [step, end]);
      console.log(`${end} steps, ${key}: ${Date.now() - start} ms`);
    }
    const start = Date.now();
    const took = await answersTo(page, async () => {
      await page.locator(".next button.choice").first().click();
      await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), end + 1);
      await linked(page);
      await settled(page);
    });
    console.log(`${end} steps, an event: ${Date.now() - start} ms, ${took.bytes} bytes in ${took.answers} answers`);
    assert.ok(took.answers >= 2 && took.answers < ANSWERS_MAX && took.bytes < BYTES_MAX, JSON.stringify(took));
    const branched = await answersTo(page, async () => {
      await press(page, "k", "k");
      // The branch delivers a message here.
      await page.locator(".next button.choice", { hasNotText: "from node" }).first().click();
      await page.waitForFunction((step) => document.querySelector(".present")?.textContent === `step ${step} of ${step}`, end);
      await linked(page);
      await settled(page);
    });
    console.log(`${end} steps, another branch: ${branched.bytes} bytes in ${branched.answers} answers`);
    assert.ok(branched.answers < ANSWERS_MAX && branched.bytes < BYTES_MAX, JSON.stringify(branched));
    // Back on the trace as it was: its last call of the application moves before the delivery in front of it.
    await press(page, "u", "u", "u", "u", "G", "k");
    assert.deepEqual(await steps(page), { step: end - 1, end });
    const reordered = await answersTo(page, async () => {
      await press(page, ",");
      await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), end - 2);
      await linked(page);
      await settled(page);
    });
    assert.deepEqual([await steps(page), await page.locator(".notice").count()], [{ step: end - 2, end }, 0]);
    console.log(`${end} steps, reordered: ${reordered.bytes} bytes in ${reordered.answers} answers`);
    assert.ok(reordered.answers < ANSWERS_MAX && reordered.bytes < BYTES_MAX, JSON.stringify(reordered));
    const bundled = await answersTo(page, async () => {
      await press(page, "b");
      await page.waitForSelector(".notice:has-text('at most 5000 steps')");
    });
    assert.ok(bundled.answers < ANSWERS_MAX, JSON.stringify(bundled));
    await press(page, "2", "1");
    const elements = await countElements(page);
    assert.ok(elements < ELEMENTS_MAX, `${elements} elements`);
  });
}

/** Two tabs on a machine that sleeps, wakes, and loses the process. */
async function asleep({ url, pid, path }) {
  await inPage(url, async (page, context) => {
    const other = await context.newPage();
    await other.goto(url);
    await other.waitForSelector("section.next");
    await settled(other);
    const click = (page) => page.locator(".next button.choice").first().click();
    await click(page);
    await settled(page);
    assert.deepEqual([await steps(page), await steps(other)], [{ step: 1, end: 1 }, { step: 0, end: 0 }]);
    process.kill(pid, "SIGSTOP");
    await click(page);
    await page.waitForSelector(".notice.slow");
    assert.ok((await page.locator(".tree-row").count()) > 0, "the last state is shown");
    process.kill(pid, "SIGCONT");
    await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 2 of 2");
    await settled(page);
    assert.equal(await page.locator(".notice").count(), 0);
    await press(page, "s");
    await page.locator("#save-path").fill(path);
    await page.locator("#save-path").press("Enter");
    await page.waitForSelector(`.notice:has-text('${path}')`);
    process.kill(pid, "SIGKILL");
    await click(other);
    await other.waitForSelector(".notice.ended");
    assert.ok((await other.locator(".tree-row").count()) > 0);
  });
}

/** A trace of another build is opened as a branch; a link of another build is refused with a remedy. */
async function another({ url, trace, fragment }) {
  await inPage(
    url,
    async (page) => {
      await page.locator("input[type=file]").setInputFiles(trace);
      await page.waitForFunction(() => document.querySelector(".present")?.textContent === "step 2 of 2");
      await settled(page);
      await page.goto(`${url}#${fragment}`);
      await page.waitForSelector(".notice.error");
      assert.match(await page.locator(".notice.error").innerText(), /another build of it\s*save the moment as a trace/);
      assert.deepEqual(await steps(page), { step: 2, end: 2 });
    },
    (response) => response.url().endsWith("/replay"),
  );
}
