import { createInProcessStateAdapter } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toNodeListener } from "../node-listener.ts";
import { installTimeoutMs, listen, openBrowser, watchPage } from "../testing/browser.ts";
import { openBusyShop } from "../testing/busy-shop.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

const basePath = "/ops/jobs";

it.each([
  ["as it is", undefined],
  ["without what the proxy removes", ""],
])("works below a path that the server sees %s", async (_name, mountPath) => {
  const { dashboard, failedId } = await openBusyShop(createInProcessStateAdapter(), { basePath, mountPath });
  const answer = toNodeListener(dashboard);
  const { origin, close } = await listen((message, response) => {
    if (message.url?.startsWith(basePath) !== true) return void response.writeHead(404).end();
    if (mountPath === "") message.url = message.url.slice(basePath.length) || "/";
    void answer(message, response);
  });
  const { page, complaints } = await watchPage(browser);
  await page.goto(origin + basePath);
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.waitForURL(`${origin}${basePath}/jobs`);
  await page.getByRole("link", { name: "order" }).first().waitFor();
  await page.getByRole("button", { name: "failed" }).click();
  await page.waitForURL(`${origin}${basePath}/jobs?status=failed`);
  await page.reload();
  await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
  // The tree comes with a file of its own.
  await page.goto(`${origin}${basePath}/trees/${failedId}`);
  await page.getByRole("link", { name: /^order ?failed/ }).click();
  await page.waitForURL(`${origin}${basePath}/jobs/${failedId}`);
  await page.goBack();
  await page.getByRole("heading", { name: "Tree of order" }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
});
