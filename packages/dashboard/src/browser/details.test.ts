import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { installTimeoutMs, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { inProcess } from "../testing/stores.ts";
import { visitShop } from "../testing/visit.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

it("opens the jobs . and .., which browsers take for folders", () =>
  visitShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    for (const id of [".", "..", "~."])
      await leasehold.startJobSequence({ id, typeName: "mail", input: { to: `friend of ${id}` } });
    for (const id of [".", "..", "~."]) {
      await page.goto(`${origin}/jobs`);
      await page
        .getByRole("row")
        .filter({ has: page.getByText(id, { exact: true }) })
        .getByRole("link")
        .first()
        .click();
      await page.getByText(`"friend of ${id}"`).waitFor();
      await page.reload();
      await page.getByText(`"friend of ${id}"`).waitFor();
      await page.getByRole("link", { name: "Whole tree" }).click();
      await page.getByRole("heading", { level: 1, name: "Tree of mail" }).waitFor();
    }
  }));

it("shows how an action goes that was started on a paused page", () =>
  visitShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    await leasehold.startJobSequences({
      sequences: Array.from({ length: 8 }, () => ({ typeName: "mail", input: { to: "ada" } }) as const),
    });
    await page.goto(`${origin}/jobs?typeName=mail&status=pending&status=blocked&status=running`);
    await page.getByText("All that match:").waitFor();
    await page.keyboard.press(".");
    await page.getByRole("button", { name: "Paused" }).waitFor();
    await page.getByRole("button", { name: "Cancel…" }).click();
    const plan = page.getByRole("complementary");
    await plan.getByLabel(/5 a second/).check();
    await plan.getByRole("button", { name: "Cancel 8 jobs" }).click();
    await plan.getByText("under way").waitFor();
    await plan.getByText("8 were cancelled.").waitFor();
    await plan.getByText("done", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Paused" }).waitFor();
  }));

it("names the attempt whose error a job has kept", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<{ scan: { input: null; output: null } }>({
      scan: { retry: { type: "fixed", delayMs: 1 } },
    }),
  });
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "scan",
      process: async ({ job }) => {
        if (job.attempt === 1) throw new Error("The scanner lost its connection");
        return null;
      },
    })
    .start({ pollIntervalMs: 10 });
  const { id } = await leasehold.startJobSequence({ typeName: "scan", input: null });
  await expect.poll(async () => (await leasehold.jobs.get({ id }))?.status).toBe("completed");
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    authorize: () => ({ user: "grace", can: ["read", "payloads"] }),
  });
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  await page.goto(`${origin}/jobs/${id}`);
  const card = page.getByRole("region", { name: "Error of attempt 1" });
  await card.getByText("The scanner lost its connection").waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
  await dashboard.close();
  await worker.stop();
  await leasehold.close();
}, 30_000);

it("shows the open section on a phone, and the theme that was chosen whatever the system's is", () =>
  visitShop(browser, inProcess(), async ({ origin, page }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/actions`);
    const section = page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Actions" });
    const edges = async (): Promise<{ left: number; right: number }> => {
      const box = await section.boundingBox();
      return { left: box!.x, right: box!.x + box!.width };
    };
    await expect.poll(async () => (await edges()).right).toBeLessThanOrEqual(390);
    expect((await edges()).left).toBeGreaterThanOrEqual(0);

    const background = (): Promise<string> =>
      page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const [light, dark] = ["rgb(245, 246, 248)", "rgb(13, 16, 20)"];
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background()).toBe(dark);
    await page.getByRole("button", { name: "Theme: system" }).click();
    expect(await background()).toBe(light);
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("button", { name: "Theme: light" }).click();
    expect(await background()).toBe(dark);
  }));
