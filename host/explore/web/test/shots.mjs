// The pictures of the book: node test/shots.mjs URL|PAGE [FOLDER] [--dist], with the address that this prints:
//   host explore plugins/paxos -- --set bug=last-response --set proposers=2
// or with the page of a trace, found/trace.html, that this writes:
//   host run plugins/paxos --set bug=last-response --algo unfold --out found
// They go to docs/images, each with at most 100 kB; --dist takes the page that was built here.

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { launch, open, press, settled, steps, take } from "./browser.mjs";
import { small } from "./png.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const [url, named] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
if (!url) throw new Error("the address of the page is missing");
const isFile = url.endsWith(".html");
const folder = named ?? path.join(here, "../../../../docs/images");
const SIZE = { width: 1280, height: 740 };
const BYTES_MAX = 100_000;
const STEPS_IN_SIGHT = 7;

const browser = await launch();
const session = await open(browser, isFile ? pathToFileURL(url).href : url, { isOwnDist: process.argv.includes("--dist") });
const { page } = session;
await page.setViewportSize(SIZE);
await page.emulateMedia({ reducedMotion: "reduce" });
await mkdir(folder, { recursive: true });

async function shot(name) {
  await settled(page);
  await page.evaluate(() => document.querySelectorAll(".panel > .scroll").forEach((panel) => (panel.scrollTop = 0)));
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
  const png = small(await page.screenshot());
  if (png.length > BYTES_MAX) throw new Error(`${name} has ${png.length} bytes`);
  await writeFile(path.join(folder, `${name}.png`), png);
  console.log(`${name}.png: ${png.length} bytes, ${(await steps(page)).step} steps`);
}

/** An enabled event of a node is pointed at, and stays so. */
async function point(node, words) {
  await page.locator(`.next h3:has-text("${node}") + ul button.choice`, { hasText: words }).first().hover();
  await page.waitForSelector(".preview .tree-row");
}

if (isFile) await ofTrace();
else await ofSession();
await session.end();
await browser.close();

/** The page of a trace, at its end. */
async function ofTrace() {
  await page.waitForSelector(".verdict .head");
  await press(page, "G");
  await shot("trace-page");
}

async function ofSession() {
  // Both proposers have asked; what the next answer would change.
  await press(page, "g");
  for (const words of ["propose", "from node 0: Prepare {ballot: 1}"]) await take(page, words);
  await point("node 0", "PrepareResponse");
  await shot("explore-preview");

  // A search from the start finds two values chosen.
  await page.mouse.move(1, 1);
  await press(page, "g", "/");
  await page.locator("#search-start").click();
  await page.waitForSelector(".result .finding");
  await page.locator(".result .finding").first().click();
  await settled(page);
  await page.locator(".states .tree-row .field", { hasText: "chosen" }).first().click();
  await page.waitForSelector(".why-box .text");
  await page.mouse.move(1, 1);
  // The changes of the steps in sight are asked for one by one.
  await page.waitForFunction((steps) => document.querySelectorAll(".sheet .change").length >= steps, STEPS_IN_SIGHT);
  await shot("explore-violation");

  // The last answer of the second proposer before the other one, and both orders next to each other.
  await press(page, "Escape");
  const end = await page.locator(".event-text").innerText();
  await page.locator('.sheet g.event[aria-label*="PrepareResponse {ballot: 2, accepted: null}"] .number').last().click();
  await press(page, ",");
  await page.waitForSelector(".notice");
  await page.getByRole("button", { name: "Close this line" }).click();
  await press(page, "G", "2");
  await page.locator(".moments li", { hasText: `: ${end.slice(0, 40)}` }).getByRole("button", { name: "Compare" }).click();
  await page.waitForSelector(".sides .first-difference");
  await page.mouse.move(1, 1);
  await shot("explore-compare");

  // The states of one node.
  await press(page, "4");
  await page.getByLabel("States of the map at most").selectOption("1000");
  await page.getByLabel("Whose states").selectOption("1");
  await page.waitForFunction(() => /^\d+ states/.test(document.querySelector(".map .note")?.textContent ?? ""));
  await page.locator(".map-canvas").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  await shot("explore-node");
}
