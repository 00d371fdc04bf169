// The browser of a file of tests, and the page of each test in it.

import { after, before } from "node:test";

import { launch, open } from "./browser.mjs";
import { serve } from "./mock.mjs";

export let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Runs a test with a server of its own and the page in it. */
export async function withPage(options, run, refused) {
  const server = await serve(options);
  const session = await open(browser, server.url, { isRefused: refused });
  try {
    await run(session.page, server, session.context);
    await session.end();
  } finally {
    await session.context.close();
    await server.close();
  }
}
