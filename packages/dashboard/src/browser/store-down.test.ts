import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installTimeoutMs, openBrowser, serve } from "../testing/browser.ts";
import { openBusyShop } from "../testing/busy-shop.ts";
import { openPostgres } from "../testing/stores.ts";

let browser: Browser;

let server: PostgresServer;

beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), startPostgres()]);
}, installTimeoutMs);

afterAll(async () => {
  await browser.close();
  await server.stop();
});

const open = async () => {
  const { stateAdapter, pool, schema, close: closeStore } = await openPostgres(server.url);
  const shop = await openBusyShop(stateAdapter);
  const { origin, close } = await serve(shop.dashboard);
  const page = await browser.newPage();
  return {
    ...shop,
    pool,
    schema,
    origin,
    page,
    close: async () => {
      await page.close();
      await shop.dashboard.close();
      await close();
      await closeStore();
    },
  };
};

const alerts = (page: Page): Promise<string[]> => page.getByRole("alert").allTextContents();

const sentence = "The store cannot be reached. The page keeps trying.";

const healsWithinMs = 5_000;

it("shows that the store is unavailable, keeps the last state, and recovers", async () => {
  const { origin, page, read, act, failedId, close } = await open();
  const other = await browser.newPage();
  await page.goto(`${origin}/jobs`);
  await expect.poll(() => page.locator("tbody tr").count()).toBe(5);
  const refusal = page.waitForResponse(
    (response) => response.url().includes("/api/v1/jobs?") && response.status() === 503,
  );
  await server.shutDown("immediate");
  for (const path of [
    "session",
    "jobs",
    `jobs/${failedId}`,
    "causes",
    "limits",
    "actions",
    `trees/${failedId}`,
  ])
    expect(await read(path), path).toMatchObject({
      status: 503,
      body: { error: { code: "store_unavailable", message: "The store cannot be reached." } },
    });
  expect((await act("plans/redrive", { ids: [failedId] })).status).toBe(503);
  await refusal;
  await expect.poll(() => alerts(page)).toEqual([sentence]);
  expect(await page.locator("tbody tr").count()).toBe(5);
  // A new visitor gets an answer, too.
  await other.goto(origin);
  await expect.poll(() => alerts(other)).toEqual([sentence]);

  await server.startAgain();
  const isBackAt = Date.now();
  await expect.poll(() => alerts(page), { timeout: 20_000 }).toEqual([]);
  await other.getByRole("heading", { name: "Overview" }).waitFor();
  await expect.poll(() => alerts(other)).toEqual([]);
  expect(Date.now() - isBackAt).toBeLessThan(healsWithinMs);
  await other.close();
  await close();
}, 60_000);

it("shows that something is on its way if the store takes its time, and nothing before", async () => {
  const { origin, page, pool, schema, close } = await open();
  const blocker = await pool.connect();
  await blocker.query("BEGIN");
  await blocker.query(`LOCK TABLE ${schema}.job IN ACCESS EXCLUSIVE MODE`);
  await page.goto(`${origin}/jobs`);
  const skeleton = page.locator(".skeleton");
  await skeleton.waitFor();
  const effect = "document.querySelector('.skeleton').getAnimations()[0].effect";
  expect(await page.evaluate(`[${effect}.getTiming().delay, ${effect}.getKeyframes()[0].opacity]`)).toEqual([
    150,
    "0",
  ]);
  await expect
    .poll(() => page.evaluate("getComputedStyle(document.querySelector('.skeleton')).opacity"))
    .toBe("1");
  await blocker.query("COMMIT");
  blocker.release();
  await expect.poll(() => page.locator("tbody tr").count()).toBe(5);
  await close();
});
