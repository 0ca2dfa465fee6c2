import { createInProcessStateAdapter } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installTimeoutMs, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { openBusyShop } from "../testing/busy-shop.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);
afterAll(() => browser.close());

const open = async () => {
  const shop = await openBusyShop(createInProcessStateAdapter());
  const server = await serve(shop.dashboard);
  const watched = await watchPage(browser);
  return { ...shop, ...server, ...watched };
};

it("redrives what failed, with the keyboard alone", async () => {
  const { leasehold, origin, page, complaints, close } = await open();
  await page.goto(origin);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  const first = page.locator("[data-row] a").first();
  await first.waitFor();
  await page.keyboard.press("j");
  const cause = await first.textContent();
  expect(await page.locator(":focus").textContent()).toBe(cause);
  await page.keyboard.press("p");
  const plan = page.getByRole("complementary", { name: `Redrive: ${cause}` });
  await plan.getByText("2 jobs would run again.").waitFor();
  // A dry run changes nothing.
  expect((await leasehold.listJobs({ status: "failed" })).jobs).toHaveLength(2);
  expect(await page.locator(":focus").textContent()).toBe(`Redrive ${cause}`);
  for (let presses = 0; presses < 10; presses += 1) {
    if ((await page.locator(":focus").textContent()) === "Redrive 2 jobs") break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await plan.getByText("2 run again.").waitFor();
  expect((await leasehold.listJobs({ status: "failed" })).jobs).toEqual([]);
  await page.keyboard.press("Escape");
  await plan.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("cell", { name: "2 changed" }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
});

it("deletes selected jobs only after their number was typed in", async () => {
  const { leasehold, origin, page, complaints, close } = await open();
  await page.goto(`${origin}/jobs?status=failed`);
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Delete…" }).click();
  const button = page.getByRole("button", { name: "Delete 2 trees" });
  await button.waitFor();
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel(/Type 2 to confirm/).fill("3");
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel(/Type 2 to confirm/).fill("2");
  await button.click();
  await page.getByText("2 were deleted.").waitFor();
  expect((await leasehold.listJobs({ status: "failed" })).jobs).toEqual([]);
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
});

it("keeps rows in place when jobs come in, and says how many did", async () => {
  const { leasehold, origin, page, close } = await open();
  await page.goto(`${origin}/jobs?typeName=mail`);
  await page.getByText("Newest 2").waitFor();
  await leasehold.start({ typeName: "mail", input: { to: "eve" } });
  const fresh = page.getByRole("button", { name: "1 new" });
  await fresh.waitFor({ timeout: 15_000 });
  expect(await page.locator("tbody tr").count()).toBe(2);
  await fresh.click();
  await page.getByText("Newest 3").waitFor();
  await page.context().close();
  await close();
});

it("offers nothing to somebody who may only read", async () => {
  const { dashboard, leasehold } = await openShop(["read"]);
  await leasehold.start({ typeName: "mail", input: { to: "ada" } });
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  await page.goto(`${origin}/jobs`);
  await page.getByRole("link", { name: "mail" }).first().click();
  await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
  await page.getByText(/hidden · object/).waitFor();
  for (const name of [/Run now/, /Cancel/, /Delete/, /Redrive/])
    expect(await page.getByRole("button", { name }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
});
