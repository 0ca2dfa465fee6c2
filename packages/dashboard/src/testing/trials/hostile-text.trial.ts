import type { Browser } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { installTimeoutMs, openBrowser } from "../browser.ts";
import { visitHostileShop } from "../hostile-suite.ts";
import { hostileTexts } from "../hostile-texts.ts";
import { inProcess, postgres, sqlite } from "../stores.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);
afterAll(() => browser.close());

it.each([inProcess(), sqlite(), postgres()])(
  "shows whatever is stored as text, over $name",
  async (store) => {
    await visitHostileShop(browser, store, { texts: hostileTexts, longest: 1_000_000, jobs: Infinity });
    await store.end();
  },
  600_000,
);
