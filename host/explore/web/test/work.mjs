// The work of the page for an action, in counts that the speed of a machine hardly changes: executed blocks of its script, elements that
// are made and changed, layouts, answers and their bytes.

import { drawn } from "./browser.mjs";

/** Begins to count; the result runs an action and gives its counts once the page is painted. */
export async function counting(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  await cdp.send("Profiler.enable");
  await cdp.send("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await page.evaluate(count);
  return async (run) => {
    await blocks(cdp);
    await page.evaluate(() => Object.assign(window.counted, { made: 0, changed: 0, drawn: 0 }));
    const layouts = await laidOut(cdp);
    const traffic = await answersTo(page, async () => {
      await run();
      await drawn(page);
    });
    return { blocks: await blocks(cdp), layouts: (await laidOut(cdp)) - layouts, ...traffic, ...(await page.evaluate(() => window.counted)) };
  };
}

/** The number of answers during a run, and their bytes with their heads; none of requests that the page gives up. */
export async function answersTo(page, run) {
  const counts = { answers: 0, bytes: 0 };
  const cdp = await page.context().newCDPSession(page);
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => {
    counts.answers += 1;
    counts.bytes += encodedDataLength;
  });
  await cdp.send("Network.enable");
  await run();
  // Behind the events of the page so far.
  await cdp.send("Runtime.evaluate", { expression: "0" });
  await cdp.detach();
  return counts;
}

/** In the page: counts elements, and the lines and circles of canvases. */
function count() {
  window.counted = { made: 0, changed: 0, drawn: 0 };
  const observe = (records) => {
    for (const { type, addedNodes } of records) {
      if (type !== "childList") window.counted.changed += 1;
      for (const added of addedNodes) window.counted.made += 1 + (added.querySelectorAll?.("*").length ?? 0);
    }
  };
  new MutationObserver(observe).observe(document, { childList: true, subtree: true, attributes: true, characterData: true });
  for (const name of ["lineTo", "arc", "fillText"]) {
    const draw = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      window.counted.drawn += 1;
      return draw.apply(this, given);
    };
  }
}

/** How often blocks of the script of the page were executed since the last question. */
async function blocks(cdp) {
  const { result } = await cdp.send("Profiler.takePreciseCoverage");
  const ranges = result.filter(({ url }) => url.endsWith("app.js")).flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

async function laidOut(cdp) {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "LayoutCount")?.value ?? 0;
}
