// What holds for all page tests: none of them depends on how fast the machine is.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./browser.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const DEFAULT = /setDefaultTimeout\(WAIT_MS\)/g;
const PATTERNS = [/\btimeout\s*:/i, /waitForTimeout/, /set(Default|DefaultNavigation)Timeout/, /setTimeout\([^)]*,/, /Date\.now\(\) *[-<>]/];

/** The lines that wait for a time, or bound one. */
function timed(text) {
  const lines = text.replaceAll(DEFAULT, "").split("\n");
  return lines.filter((line) => PATTERNS.some((pattern) => pattern.test(line)) && !/console\.log/.test(line));
}

test("one default time-out of two minutes, and no other time in any page test", async () => {
  const files = (await readdir(here)).filter((file) => file.endsWith(".mjs") && file !== "rules.test.mjs");
  assert.ok(files.includes("browser.mjs") && files.length > 8, files.join(", "));
  let defaults = 0;
  for (const file of files) {
    const text = await readFile(path.join(here, file), "utf8");
    assert.deepEqual(timed(text), [], file);
    defaults += text.match(DEFAULT)?.length ?? 0;
    if (file === "browser.mjs") assert.match(text, /const WAIT_MS = 120_000;/);
  }
  assert.equal(defaults, 1, "pages are opened in more than one place");
});

test("the check finds each way to depend on time", () => {
  const ways = ["{ timeout: 20_000 }", "await page.waitForTimeout(300);", "page.setDefaultTimeout(10_000);", "setTimeout(resolve, 12)", "assert.ok(Date.now() - start < 5)"];
  for (const way of ways) assert.equal(timed(way).length, 1, way);
});

test("every file of tests is run", async () => {
  const { scripts } = JSON.parse(await readFile(path.join(here, "../package.json"), "utf8"));
  const files = (await readdir(here)).filter((file) => file.endsWith(".test.mjs"));
  assert.deepEqual(files.filter((file) => !scripts.test.includes(`test/${file}`)), []);
});

test("a browser that ends while it starts is started again, and its last error is kept", async () => {
  let starts = 0;
  const third = async () => {
    starts += 1;
    if (starts < 3) throw new Error("browser has been closed");
    return "the browser";
  };
  assert.equal(await launch(third), "the browser");
  assert.equal(starts, 3);
  const never = async () => {
    throw new Error("no browser");
  };
  await assert.rejects(launch(never), /no browser/);
});
