// The task of docs/explore.md, click by click: node test/task.mjs URL [--dist], with the address that this prints:
//   host explore plugins/paxos -- --set bug=last-response --set proposers=2
// Two values are chosen. Which answer decides what a proposer proposes, and is it the right one?

import assert from "node:assert/strict";

import { launch, open, press, settled } from "./browser.mjs";

const url = process.argv[2];
if (!url) throw new Error("the address of the page is missing");
const browser = await launch();
const session = await open(browser, url, { isOwnDist: process.argv.includes("--dist") });
const { page } = session;
const say = (text) => console.log(text);

/** The steps of the branch that are drawn, as `{ row, text }`. */
async function rows() {
  const all = await page.locator(".sheet g.event").evaluateAll((rows) => rows.map((row) => ({ row: Number(row.dataset.row), text: row.getAttribute("aria-label") })));
  return all.sort((one, other) => one.row - other.row);
}
/** The value that a proposer asks to accept, with the ballot 2. */
const proposed = (text) => /Accept \{ballot: 2, value: (\d+)\}/.exec(text)?.[1];

// A tall window: the drawing has all steps.
await page.setViewportSize({ width: 1400, height: 1400 });
await press(page, "g");
say("1. Search, and open the finding");
await page.getByRole("button", { name: "Search", exact: true }).first().click();
await page.locator("#search-start").click();
await page.waitForSelector(".result .finding");
await page.locator(".result .finding").first().click();
await settled(page);
const why = await page.locator(".strip", { hasText: "agreement" }).innerText();
assert.match(why, /violated:\s+node (\d) has chosen 100, node \1 has chosen 101/);
say(`   ${why.replace(/\s+/g, " ")}`);

say("2. Ask who wrote `chosen`");
await page.locator(".tree.front .tree-row .field", { hasText: "chosen" }).first().click();
await page.waitForSelector(".why-box .chain button");
const chain = await page.locator(".why-box .chain button").allInnerTexts();
assert.ok(chain.some((text) => proposed(text)), `the answer leads to an Accept: ${chain.join("; ")}`);
say(`   ${chain.join("; ")}`);
await press(page, "Escape");

say("3. Of the answers to the second proposer one has an accepted value, and the last one has none");
const before = await rows();
const answers = before.filter(({ text }) => /PrepareResponse \{ballot: 2/.test(text));
const last = answers.at(-1);
const other = answers.find(({ text }) => !/accepted: null/.test(text));
assert.ok(other && other.row < last.row && /accepted: null/.test(last.text), answers.map(({ text }) => text).join("; "));
await page.locator(`.sheet g.event[data-row="${last.row}"] .number`).click();
await settled(page);
const own = before.map(({ text }) => proposed(text)).find(Boolean);
assert.equal(own, "101", "the proposer asks for its own value, though 100 was accepted");
say(`   step ${other.row}: ${other.text}; step ${last.row}: ${last.text}; it proposes ${own}`);

say("4. Move the last answer before the other one, and look at what is proposed then");
for (let row = last.row; row > other.row; row -= 1) {
  await page.keyboard.press(",");
  await page.waitForFunction((step) => document.querySelector(".present")?.textContent?.startsWith(`step ${step} of`), row - 1);
  await settled(page);
}
const after = await rows();
const end = after.at(-1);
await page.locator(`.sheet g.event[data-row="${end.row}"] .number`).click();
await settled(page);
const flight = await page.locator(".flight button.choice").allInnerTexts();
const otherwise = [...after.map(({ text }) => text), ...flight].map(proposed).find(Boolean);
assert.equal(otherwise, "100", "in the other order the accepted value is proposed");
say(`   it proposes ${otherwise}: the last answer decides, and not the one with the highest ballot`);

say("5. Compare both");
await press(page, "2");
await page.locator(".moments li", { hasText: before.at(-1).text.replace(/^Step \d+: /, "").slice(0, 40) }).first().getByRole("button", { name: "Compare" }).click();
await page.waitForSelector(".sides .first-difference");
say(`   ${(await page.locator(".compare > p").first().innerText()).trim()}`);

await session.end();
await browser.close();
