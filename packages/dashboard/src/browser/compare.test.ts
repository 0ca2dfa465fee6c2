import { createInProcessStateAdapter } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findBarriers, installTimeoutMs, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

it("shows two deployments side by side, and keeps the choice in the address", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const now = Date.now();
  const bucketMs = 10_000;
  /** Stored counts are slots, each followed by its number: created 0, completed 1, unrecoverable 11, run times from 101. */
  const report = (deployment: string, counts: readonly number[]) =>
    stateAdapter.history!.writeReport({
      reporter: { id: deployment, deployment, startedAt: now, info: "{}" },
      buckets: [
        {
          bucketMs,
          from: Math.floor((now - 30_000) / bucketMs) * bucketMs,
          queue: "default",
          typeName: "mail",
          deployment,
          processId: deployment,
          counts: JSON.stringify(counts),
        },
      ],
      causes: [],
      maxAgeMs: 60_000,
    });
  const { dashboard } = await openShop(["read"], {}, stateAdapter);
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  await page.goto(`${origin}/compare`);
  await page.getByText("There is nothing to compare yet.").waitFor();

  await report("v1", [0, 200, 1, 190, 11, 10, 111, 200]);
  await report("v2", [0, 200, 1, 140, 11, 60, 121, 200]);
  await report("v3", [0, 20, 1, 20, 111, 20]);
  await page.goto(`${origin}/compare?one=v1&other=v2`);
  await page.getByText("more failures").waitFor();
  await page.getByText("slower").waitFor();
  expect(await page.locator("tbody tr").textContent()).toMatch(/5 % of 200.*30 % of 200/);
  expect(await findBarriers(page)).toEqual([]);

  await page.getByLabel("with").selectOption("v3");
  await expect.poll(() => page.getByText("too few to judge", { exact: true }).count()).toBe(2);
  expect(new URL(page.url()).search).toBe("?one=v1&other=v3");
  await page.reload();
  await expect.poll(() => page.getByText("too few to judge", { exact: true }).count()).toBe(2);
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
  await dashboard.close();
});
