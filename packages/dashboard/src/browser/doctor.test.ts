import { createInProcessStateAdapter } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installTimeoutMs, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

it("shows what doctor found, leads there from the overview, and looks again when asked", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const { dashboard, leasehold } = await openShop(["read"], {}, stateAdapter);
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);

  await page.goto(origin);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.getByText("All is well.").waitFor();
  await page.getByText("Quick check").waitFor();
  await page.getByText("No queue has jobs that wait for long.").waitFor();

  const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
  await leasehold.jobs.cancel({ ids: [id] });
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText("1 job failed in the last hour; 1 in all.").waitFor();
  await page.getByRole("status").getByText("Doctor has looked: 1 warning.").waitFor({ state: "attached" });
  expect(await page.getByText("All is well.").count()).toBe(0);
  expect(await page.locator(".finding.warning code").allTextContents()).toEqual([
    "leasehold failed list",
    "leasehold failed redrive",
  ]);

  await page.goto(origin);
  await page.getByText("Doctor found 1 warning.").waitFor();
  await page.getByRole("link", { name: "1 warning" }).click();
  // Another viewer gets the same result without a new check.
  await page.getByText("1 job failed in the last hour; 1 in all.").waitFor();
  expect(await page.getByText("Quick check").count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
  await dashboard.close();
});
