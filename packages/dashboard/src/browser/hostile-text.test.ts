import type { Browser } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { installTimeoutMs, openBrowser } from "../testing/browser.ts";
import { visitHostileShop } from "../testing/hostile-suite.ts";
import { someHostileTexts } from "../testing/hostile-texts.ts";
import { inProcess } from "../testing/stores.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

// `npm run test:dashboard` does the same with all of them, on every store.
it("shows whatever is stored as text", async () => {
  await visitHostileShop(browser, inProcess(), { texts: someHostileTexts, longest: 20_000, jobs: 2 });
}, 90_000);
