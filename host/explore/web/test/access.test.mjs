// The page for people who do not use a mouse, or do not see it: names, roles, the order of the focus, contrast, every key.

import assert from "node:assert/strict";
import { test } from "node:test";

import { open, press, settled, steps, take } from "./browser.mjs";
import { lowContrast } from "./contrast.mjs";
import { browser, withPage } from "./session.mjs";

/** Brings the page into each of its views and states, one after the other. */
async function* looks(page) {
  yield "the start";
  await press(page, "G", "k");
  await take(page, "heads");
  await press(page, "[");
  await page.locator(".verdict summary").click();
  await page.locator(".faults summary").click();
  await page.locator(".kinds summary").click();
  await page.locator(".next button.choice").first().hover();
  await page.waitForSelector(".preview .tree-row");
  yield "a violation, and a preview";
  await page.locator(".states .tree-row button.field").first().click();
  await page.waitForSelector(".why-box .text");
  await page.locator("#probe").fill("locals.0.decided");
  await page.locator("#probe").press("Enter");
  await page.waitForSelector(".probe-name");
  yield "an answer and a probe";
  await page.locator("#probe").press("Escape");
  await press(page, "/");
  await page.locator("#search-start").click();
  await page.waitForSelector(".result .finding");
  await page.locator(".result .finding").click();
  await settled(page);
  yield "a search";
  await press(page, "2");
  yield "branches";
  await page.locator(".moments button:has-text('Compare'):enabled").first().click();
  await page.waitForSelector(".sides .first-difference");
  yield "a comparison";
  await press(page, "4");
  await page.waitForSelector(".map-canvas");
  await page.locator(".map-canvas").focus();
  await page.keyboard.press("ArrowDown");
  yield "the map";
  await press(page, "1", "s");
  await page.waitForSelector("dialog[open]");
  yield "the dialog that saves";
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  yield "the help";
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
}

for (const colorScheme of ["light", "dark"]) {
  test(`every text has a contrast of 4.5, ${colorScheme}`, () =>
    withPage({ trace: "violation" }, async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      let count = 0;
      for await (const look of looks(page)) {
        await page.mouse.move(1, 1);
        await page.waitForFunction(() => [...document.querySelectorAll(".panel")].every((panel) => getComputedStyle(panel).opacity === "1"));
        const found = await page.evaluate(lowContrast, 4.5);
        assert.deepEqual(found.low, [], look);
        count += found.count;
      }
      assert.ok(count > 500, `${count} texts`);
    }));
}

test("the measure of contrast finds a faint text", () =>
  withPage({}, async (page) => {
    await settled(page);
    // Panels fade out while they wait.
    await page.waitForFunction(() => [...document.querySelectorAll(".panel")].every((panel) => getComputedStyle(panel).opacity === "1"));
    await page.evaluate(() => {
      document.querySelector("h1").style.color = "#94a3b8";
    });
    assert.equal((await page.evaluate(lowContrast, 4.5)).low.length, 1);
  }));

const CONTROLS = ["button", "checkbox", "radio", "combobox", "textbox", "spinbutton", "link", "img", "region", "application", "dialog", "progressbar", "list", "toolbar", "navigation"];

test("every control has a role and a name; ids are there once; headings and landmarks are in order", () =>
  withPage({ trace: "violation" }, async (page) => {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Accessibility.enable");
    let count = 0;
    for await (const look of looks(page)) {
      const { nodes } = await cdp.send("Accessibility.getFullAXTree");
      const controls = nodes.filter(({ ignored, role }) => !ignored && CONTROLS.includes(role?.value));
      const nameless = controls.filter(({ name, role }) => (name?.value ?? "").trim() === "" && role.value !== "list");
      assert.deepEqual(nameless.map(({ role, nodeId }) => `${role.value} ${nodeId}`), [], look);
      count += controls.length;
      const wrong = await page.evaluate(() => {
        const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
        const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
        // What can be clicked can be focused, or has another way: rows and arrows by j and k, strips by v.
        const mouseOnly = [...document.querySelectorAll("[role=button], [role=link]")].filter((element) => element.tabIndex < 0);
        return [...twice, ...mouseOnly.map((element) => element.outerHTML.slice(0, 80))];
      });
      assert.deepEqual(wrong, [], look);
      const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value);
      if (!look.includes("dialog") && !look.includes("help")) for (const role of ["banner", "main", "heading"]) assert.ok(roles.includes(role), `${look}: no ${role}`);
    }
    assert.ok(count > 300, `${count} controls`);
  }));

test("the focus goes from the header over the view to the panels, is always seen, and never caught", () =>
  withPage({ trace: "violation" }, async (page) => {
    await page.evaluate(() => document.activeElement?.blur());
    const seen = [];
    for (let count = 0; count < 400; count += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const { top, left, width, height } = element.getBoundingClientRect();
        const style = getComputedStyle(element);
        const isSeen = width > 0 && height > 0 && top > -1 && left > -1 && top < innerHeight && left < innerWidth && style.outlineStyle !== "none";
        const parts = ["header", ".verdict", ".properties", ".view", ".panel", ".panel ~ .panel"];
        const part = parts.findLastIndex((selector) => element.closest(selector));
        return { part, isSeen, html: element.outerHTML.slice(0, 90) };
      });
      if (!at) break;
      seen.push(at);
    }
    assert.ok(seen.length > 40 && seen.length < 400, `${seen.length} stops`);
    assert.deepEqual(seen.filter(({ isSeen }) => !isSeen).map(({ html }) => html), []);
    const order = seen.map(({ part }) => part);
    assert.deepEqual(order, [...order].sort((one, other) => one - other));
    assert.deepEqual([...new Set(order)], [0, 1, 3, 4, 5]);
  }));

/** For each key of the help: where it is pressed, and what it does. */
const present = (text) => (page) => page.waitForFunction((text) => document.querySelector(".present")?.textContent === text, text);
const focused = (selector) => (page) => page.waitForFunction((selector) => document.activeElement?.matches(selector), selector);
const shown = (selector) => (page) => page.waitForSelector(selector);
const EFFECTS = {
  "j": [["g"], present("step 1 of 10")],
  "↓": [["g"], present("step 1 of 10")],
  "k": [["G"], present("step 9 of 10")],
  "↑": [["G"], present("step 9 of 10")],
  "g": [["G"], present("step 0 of 10")],
  "Home": [["G"], present("step 0 of 10")],
  "G": [["g"], present("step 10 of 10")],
  "End": [["g"], present("step 10 of 10")],
  "v": [["g"], present("step 10 of 10")],
  // A branch parts before the last step.
  "]": [["G"], present("step 10 of 10"), (page) => page.waitForFunction(() => /tick/.test(document.querySelector(".event-text").textContent))],
  "[": [["G", "]"], (page) => page.waitForFunction(() => /Vote:101/.test(document.querySelector(".event-text").textContent))],
  ",": [["g", "j", "j", "j", "j", "j", "j"], present("step 5 of 10")],
  "e": [[], focused(".next button.choice")],
  "f": [[], focused(".next details.faults[open] button.choice")],
  "u": [["g", "j"], present("step 0 of 10")],
  "U": [["g", "j", "u"], present("step 1 of 10")],
  "n": [["G"], shown(".names .name[aria-pressed=true]:has-text('node 0')")],
  "p": [["G"], shown(".names .name[aria-pressed=true]:has-text('node 2')")],
  "c": [[], shown("#changes-only:checked")],
  "h": [["G"], shown(".steps [aria-pressed=true]")],
  "t": [["G"], shown(".kinds input:not(:checked)")],
  "T": [["G", "t"], (page) => page.waitForFunction(() => !document.querySelector(".kinds input:not(:checked)"))],
  "1": [["2"], shown(".space-time")],
  "2": [[], shown(".branches")],
  "3": [[], shown(".compare")],
  "4": [[], shown(".map")],
  "m": [[], focused("#moment-name")],
  "x": [["2"], focused("#probe")],
  "w": [[], focused("#why")],
  "/": [[], focused("#strategy")],
  "l": [[], shown(".notice:has-text('link')")],
  "s": [[], shown("dialog #save-path")],
  "b": [[], (page, download) => download],
  "o": [[], (page, _, chooser) => chooser],
  "Escape": [["w"], (page) => page.waitForFunction(() => document.activeElement === document.body)],
  "?": [[], shown("dialog kbd")],
};

test("every key of the help does what it says", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    // Another branch from the step before the last.
    await press(page, "k");
    await take(page, "tick");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] kbd");
    const listed = await page.locator("dialog dl:first-child kbd").allInnerTexts();
    await page.keyboard.press("Escape");
    assert.deepEqual([...listed].sort(), Object.keys(EFFECTS).sort(), "a key of the help without a test, or a test without a key");
    // The browser is asked once to leave its dialog away: a listener that comes with the key may be late.
    const chooser = new Promise((resolve) => page.on("filechooser", resolve));
    for (const key of listed) {
      await page.goto("about:blank");
      await page.goto(server.url);
      await page.waitForSelector(".sheet g.event.now");
      await settled(page);
      const [before, ...checks] = EFFECTS[key];
      await press(page, ...before);
      const download = key === "b" ? page.waitForEvent("download") : null;
      await page.keyboard.press(key === "↓" ? "ArrowDown" : key === "↑" ? "ArrowUp" : key);
      try {
        for (const check of checks) await check(page, download, chooser);
      } catch (error) {
        throw new Error(`${key}: ${error.message}`, { cause: error });
      }
      await settled(page);
    }
  }));

test("a whole task without a mouse: to a violation, back, another event, compared, named, saved", () =>
  withPage({ trace: "violation" }, async (page, server) => {
    await press(page, "g", "v", "k", "e", "ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /tick|toss|Ask/.test(document.querySelector(".event-text")?.textContent ?? ""));
    await settled(page);
    assert.equal((await steps(page)).step, 10);
    await press(page, "m");
    await page.keyboard.type("otherwise");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".moments li.here:has-text('otherwise')");
    await page.keyboard.press("Escape");
    // To the first Compare button that can be pressed.
    for (let count = 0; count < 30; count += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement?.textContent === "Compare" && document.activeElement.closest(".moments") !== null)) break;
    }
    await page.keyboard.press("Enter");
    await page.waitForSelector(".sides .first-difference");
    await press(page, "s");
    await page.waitForSelector("dialog #save-path");
    await page.locator("#save-path").press("Enter");
    await page.waitForSelector(".notice:has-text('The trace is in')");
    assert.ok(server.mock.places.some(({ name }) => name === "otherwise"));
  }));

test("the focus is where a key puts it before another key can come", () =>
  withPage({}, async (page) => {
    await settled(page);
    const wanted = { "?": "dialog:modal *", "s": "dialog:modal *", "m": "#moment-name", "x": "#probe", "/": "#strategy", "w": "#why", "e": "button.choice", "f": ".faults button.choice" };
    for (const [key, selector] of Object.entries(wanted)) {
      // Within one task, as if the browser had no time to draw between the two keys.
      const isThere = await page.evaluate(
        async ([key, selector]) => {
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
          for (let count = 0; count < 20; count += 1) await null;
          return document.activeElement?.matches(selector);
        },
        [key, selector],
      );
      assert.ok(isThere, `${key}: the next key goes elsewhere`);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog") && document.activeElement === document.body);
    }
  }));
