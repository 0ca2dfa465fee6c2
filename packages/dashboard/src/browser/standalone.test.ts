import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startDashboard } from "../standalone/start.ts";
import { findBarriers, installTimeoutMs, openBrowser, watchPage } from "../testing/browser.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

const openStore = async () => {
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<{ greet: { input: null; output: null } }>();
  return { stateAdapter, leasehold: await createLeasehold({ stateAdapter, jobTypes }) };
};

it("signs a person in by a form, switches between stores, and signs out", async () => {
  const dashboard = await startDashboard({
    port: 0,
    users: [{ name: "ada", token: "the-token-of-ada-lovelace", can: ["read"] }],
    stores: [
      { path: "production", environment: { label: "production", tone: "danger" }, ...(await openStore()) },
      { path: "staging", environment: { label: "staging", tone: "neutral" }, ...(await openStore()) },
    ],
  });
  const { origin } = new URL(dashboard.url);
  const { page, complaints } = await watchPage(browser);
  const isRefusal = (complaint: string): boolean => complaint.includes("401");

  await page.goto(`${origin}/staging/jobs`);
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByLabel("Your token").fill("not-the-token-of-ada");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "That token is not known" }).waitFor();
  await page.getByLabel("Your token").fill("the-token-of-ada-lovelace");
  await page.getByRole("button", { name: "Sign in" }).click();

  await page.waitForURL(`${origin}/production/`);
  await page.getByText("Signed in as ada").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Jobs", exact: true }).click();
  await page.waitForURL(`${origin}/production/jobs`);
  await expect.poll(() => page.title()).toBe("Jobs · production · Leasehold");
  await page.getByLabel("Store").selectOption("staging");
  await page.waitForURL(`${origin}/staging/jobs`);
  await expect.poll(() => page.title()).toBe("Jobs · staging · Leasehold");
  expect(await findBarriers(page)).toEqual([]);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.goto(`${origin}/production/`);
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  expect(complaints.filter((complaint) => !isRefusal(complaint))).toEqual([]);
  await page.context().close();
  await dashboard.close();
});
