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
  const width = 10_000;
  const report = (deployment: string, counts: object) =>
    stateAdapter.history!.writeReport({
      reporter: { id: deployment, deployment, startedAt: now, about: "{}" },
      rollups: [
        {
          width,
          from: Math.floor((now - 30_000) / width) * width,
          queue: "default",
          typeName: "mail",
          deployment,
          reporterId: deployment,
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

  await report("v1", { created: 200, completed: 190, failed: { unrecoverable: 10 }, runTime: { 10: 200 } });
  await report("v2", { created: 200, completed: 140, failed: { unrecoverable: 60 }, runTime: { 20: 200 } });
  await report("v3", { created: 20, completed: 20, runTime: { 10: 20 } });
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
