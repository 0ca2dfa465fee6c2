import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installTimeoutMs, openBrowser } from "../testing/browser.ts";
import { postgres, sqlite } from "../testing/stores.ts";
import { visitShop } from "../testing/visit.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);
afterAll(() => browser.close());

describe.each([sqlite(), postgres()])("what holds a job up, over $name", (store) => {
  afterAll(() => store.end());

  it("is followed to the jobs that hold the slots, with actions that change something", async () => {
    await visitShop(browser, store, async ({ leasehold, stateAdapter, origin, page }) => {
      await leasehold.limits.set({ queue: "media", concurrency: 1 });
      const film = await leasehold.startJobSequence({
        typeName: "order",
        input: { item: "film" },
        queue: "media",
      });
      await stateAdapter.claimJobs({
        workerId: "web-a",
        leaseToken: "token",
        leaseMs: 3_600_000,
        requests: [{ queue: "media", typeNames: null, limit: 1 }],
        limit: 1,
      });
      const mail = await leasehold.startJobSequence({
        typeName: "mail",
        input: { to: "ada" },
        queue: "media",
      });
      const reminder = await leasehold.startJobSequence({
        typeName: "reminder",
        input: null,
        startBlockers: () => [mail],
      });
      await page.goto(`${origin}/jobs/${reminder.id}`);
      const why = page.getByRole("region", { name: "Why is it not running?" });
      await why.getByText('waits for queue "media": 1 of 1 slots held by web-a').waitFor();
      expect(await page.getByRole("button", { name: "Run now" }).count()).toBe(0);
      await why.getByRole("link", { name: "mail" }).click();
      await why.getByText("holds a slot: it has been running").waitFor();
      expect(await page.getByRole("button", { name: "Run now" }).count()).toBe(0);
      await page
        .getByRole("button", { name: /^Cancel/ })
        .first()
        .click();
      await page.getByText("1 job that waits for it would fail").first().waitFor();
      await why.getByRole("link", { name: "order" }).click();
      await page.waitForURL(`**/jobs/${film.id}`);
    });
  });

  it("shows a large tree by type and state, with all of its jobs", async () => {
    await visitShop(browser, store, async ({ leasehold, startWorker, origin, page }) => {
      const { id } = await leasehold.startJobSequence({ typeName: "campaign", input: { mails: 700 } });
      const worker = await startWorker();
      const finished = { rootSequenceId: id, typeName: "mail", status: "completed" } as const;
      await expect
        .poll(async () => (await leasehold.jobs.count(finished))[0]?.count, { timeout: 15_000 })
        .toBe(700);
      await worker.stop();
      await page.goto(`${origin}/trees/${id}`);
      await page.getByText("701 jobs · took").waitFor();
      const names = await page.locator(".graph .node text:not(.sub)").allTextContents();
      expect(names.map((name) => name.trim()).sort()).toEqual(["699 × mail", "campaign", "mail"]);
    });
  });
});
