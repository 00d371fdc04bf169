// Screenshots for eyes: node test/shot.mjs URL FOLDER [--dark]. Steps through a few views.
import { chromium } from "playwright-core";

const [, , url, folder] = process.argv;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: process.argv.includes("--dark") ? "dark" : "light" });
page.on("console", (message) => console.log("console:", message.text()));
page.on("pageerror", (error) => console.log("error:", error.message));
const shot = (name) => page.screenshot({ path: `${folder}/${name}.png` });
const press = async (...keys) => {
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.waitForTimeout(120);
  }
};
await page.goto(url);
await page.waitForSelector(".next");
await shot("0-start");
for (const index of [0, 2, 1, 4, 3, 2, 3, 2, 1, 3]) {
  const buttons = page.locator(".next > ul button.choice");
  await buttons.nth(Math.min(index, (await buttons.count()) - 1)).click();
  await page.waitForTimeout(200);
}
await page.locator(".next > ul button.choice").nth(1).hover();
await page.waitForTimeout(400);
await shot("1-steps");
await press("k", "k", "k", "e", "ArrowDown", "Enter");
await press("2");
await shot("2-branches");
await page.locator(".moments li button:has-text('Compare'):enabled").first().click();
await page.waitForTimeout(300);
await shot("3-compare");
await press("4");
await page.waitForTimeout(1500);
await shot("4-map");
await press("1", "/");
await page.locator("#search-start").click();
await page.waitForTimeout(2500);
await shot("5-search");
const finding = page.locator(".finding").first();
if (await finding.count()) await finding.click();
await page.waitForTimeout(500);
await shot("6-found");
await press("?");
await shot("7-help");
await browser.close();
