// The pictures of the book: node test/shots.mjs URL [FOLDER] [--dist], with the address that this prints:
//   host explore plugins/paxos -- --set bug=last-response --set proposers=2
// They go to docs/images, each with at most 100 kB; --dist takes the page that was built here.

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { launch, open, press, settled, steps, take } from "./browser.mjs";
import { small } from "./png.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const [url, named] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
if (!url) throw new Error("the address of the page is missing");
const folder = named ?? path.join(here, "../../../../docs/images");
const SIZE = { width: 1280, height: 740 };
const BYTES_MAX = 100_000;

const browser = await launch();
const session = await open(browser, url, { isOwnDist: process.argv.includes("--dist") });
const { page } = session;
await page.setViewportSize(SIZE);
await page.emulateMedia({ reducedMotion: "reduce" });
await mkdir(folder, { recursive: true });

async function shot(name) {
  await settled(page);
  await page.evaluate(() => document.querySelectorAll(".panel > .scroll").forEach((panel) => (panel.scrollTop = 0)));
  await page.waitForTimeout(300);
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

// Both proposers have asked; what the next answer would change.
await press(page, "g");
for (const words of ["propose", "from node 0: Prepare {ballot: 1}"]) await take(page, words);
await point("node 0", "PrepareResponse");
await shot("explore-preview");

// A search from the start finds two values chosen.
await page.mouse.move(1, 1);
await press(page, "g", "/");
await page.locator("#search-start").click();
await page.waitForSelector(".result .finding", { timeout: 60_000 });
await page.locator(".result .finding").first().click();
await settled(page);
await page.locator(".states .tree-row .field", { hasText: "chosen" }).first().click();
await page.waitForSelector(".why-box .text");
await page.mouse.move(1, 1);
await shot("explore-violation");

// Another event in place of the last one, and the two next to each other.
await press(page, "Escape", "k", "k", "k", "k");
const others = page.locator(".next > ul li:not(:has(.been)) button.choice");
await others.first().click();
await settled(page);
await press(page, "2");
await page.locator(".moments button:has-text('Compare'):enabled").first().click();
await page.waitForSelector(".sides .first-difference");
await page.mouse.move(1, 1);
await shot("explore-compare");

// The states within reach.
await press(page, "4");
await page.getByLabel("States of the map at most").selectOption("100");
await page.waitForFunction(() => document.querySelector(".map .note")?.textContent?.startsWith("100 states"));
await page.locator(".map-canvas").focus();
for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
await shot("explore-map");

await session.end();
await browser.close();
