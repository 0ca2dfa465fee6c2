import { createLeasehold, defineJobTypes, UnrecoverableJobError } from "leasehold";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { findBarriers, installTimeoutMs, openBrowser, serve, watchPage } from "./browser.ts";
import type { TestStore } from "./stores.ts";

const jobTypes = defineJobTypes({
  "approve-post": {
    input: z.object({ post: z.string() }),
    output: z.object({ reason: z.string(), level: z.enum(["minor", "major"]).optional() }),
    continuesTo: ["publish-post"],
    workerless: true,
  },
  "publish-post": {
    input: z.object({ url: z.url(), times: z.number() }),
    output: z.null(),
    internal: true,
  },
  mail: { input: z.object({ to: z.email(), apiKey: z.string() }), output: z.null() },
  film: { output: z.null(), queue: "media" },
});

const openOffice = async (browser: Browser, store: TestStore) => {
  const { stateAdapter, close: closeStore } = await store.open();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const authorize = () => ({ user: "grace", can: rights });
  const dashboard = createDashboard({ leasehold, stateAdapter, authorize });
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  return {
    leasehold,
    origin,
    page,
    failMails: async (count: number): Promise<readonly string[]> => {
      const mails = Array.from({ length: count }, (_, index) => ({
        typeName: "mail" as const,
        input: { to: `user${index}@old.example`, apiKey: `sk-${index}` },
      }));
      const started = await leasehold.startJobSequences({ sequences: mails });
      const worker = await leasehold
        .createWorker()
        .implementJobType({
          typeName: "mail",
          process: async () => {
            throw new UnrecoverableJobError("no such host");
          },
        })
        .start({ pollIntervalMs: 10 });
      await expect
        .poll(async () => (await leasehold.jobs.list({ status: "failed" })).jobs, { timeout: 20_000 })
        .toHaveLength(count);
      await worker.stop();
      return started.map(({ id }) => id);
    },
    end: async () => {
      expect(complaints).toEqual([]);
      await page.context().close();
      await dashboard.close();
      await close();
      await leasehold.close();
      await closeStore();
    },
  };
};

/** Nothing is cut off, and nothing stands in the way, at both widths and in both themes. */
const expectTidy = async (page: Page): Promise<void> => {
  expect(await findBarriers(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await findBarriers(page, ["color-contrast"])).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  for (const width of [390, 1_280]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
  }
};

/** What an operator does every day, over every store; thorough, with a look at every panel. */
export const describeOperations = (store: TestStore, { thorough = false } = {}): unknown =>
  describe(`operations over ${store.name}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
      await (await store.open()).close();
    }, installTimeoutMs);
    afterAll(async () => {
      await browser.close();
      await store.end();
    });

    it("approve a waiting step with the job that follows, or with an output", async () => {
      const { leasehold, origin, page, end } = await openOffice(browser, store);
      const start = (post: string) =>
        leasehold.startJobSequence({ typeName: "approve-post", input: { post } });
      const [first, second] = [await start("p1"), await start("p2")];
      await page.goto(origin);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      expect(await page.getByText(/No worker takes/).count()).toBe(0);

      await page.goto(`${origin}/jobs/${first.id}`);
      await page.getByText("It waits to be completed from outside", { exact: false }).waitFor();
      await page.keyboard.press("p");
      const panel = page.getByRole("complementary", { name: "Complete approve-post" });
      const submit = panel.getByRole("button", { name: "Complete approve-post" });
      await panel.getByLabel("url").fill("https://example.com/p1");
      expect(await submit.isDisabled()).toBe(true);
      await panel.getByLabel("times").fill("2");
      if (thorough) await expectTidy(page);
      await panel.getByLabel(/^Why/).fill("looks good");
      await submit.click();
      await panel.waitFor({ state: "detached" });
      await page.getByRole("link", { name: "publish-post" }).waitFor();
      expect((await leasehold.jobs.listInSequence({ id: first.id })).jobs).toMatchObject([
        { status: "completed" },
        { typeName: "publish-post", input: { url: "https://example.com/p1", times: 2 } },
      ]);

      await page.goto(`${origin}/jobs/${second.id}`);
      await page.getByRole("button", { name: "Complete…" }).click();
      await panel.getByLabel("the sequence ends with an output").check();
      await panel.getByLabel("reason").fill("spam");
      await panel.getByLabel("level (optional)").selectOption("major");
      await submit.click();
      await page.getByText(/^It completed/).waitFor();
      expect(await leasehold.jobs.get({ id: second.id })).toMatchObject({
        output: { reason: "spam", level: "major" },
      });
      await page.goto(`${origin}/actions`);
      await page.getByText("looks good").waitFor();
      await end();
    });

    it("edit the input of a failed job and retry it, then the others of its cause", async () => {
      const { leasehold, origin, page, failMails, end } = await openOffice(browser, store);
      const [id] = await failMails(3);
      await page.goto(`${origin}/jobs/${id}`);
      await page.getByRole("button", { name: "Edit input…" }).click();
      const panel = page.getByRole("complementary", { name: "Edit the input and redrive" });
      await panel.getByText("apiKey: hidden, stays as it is").waitFor();
      const submit = panel.getByRole("button", { name: "Redrive with this input" });
      expect(await submit.isDisabled()).toBe(true);
      await panel.getByLabel("to", { exact: true }).fill("nobody");
      await submit.click();
      await panel.getByText(/does not fit its schema/).waitFor();
      await panel.getByRole("button", { name: "JSON" }).click();
      const text = await panel.getByLabel("JSON", { exact: true }).last().inputValue();
      await panel.locator("textarea").fill(text.slice(0, -1));
      await panel.getByText(/This is not JSON/).waitFor();
      await panel.locator("textarea").fill(text.replace("nobody", "all@new.example"));
      await panel.getByRole("list", { name: "Changes" }).getByText("all@new.example").waitFor();
      if (thorough) await expectTidy(page);
      await submit.click();
      await panel.getByText("It runs again with the changed input.").waitFor();
      expect(await leasehold.jobs.get({ id: id! })).toMatchObject({
        status: "pending",
        input: { to: "all@new.example", apiKey: "sk-0" },
      });
      await panel.getByRole("button", { name: "The same for the others…" }).click();
      const plan = page.getByRole("complementary", { name: /^Change and redrive/ });
      await plan.getByText("2 jobs would run again with the change.").waitFor();
      await plan.getByRole("button", { name: "Change and redrive 2 jobs" }).click();
      await plan.getByText("done", { exact: true }).waitFor({ timeout: 15_000 });
      const { jobs } = await leasehold.jobs.list({ status: "pending", typeName: "mail", order: "oldest" });
      expect(jobs.map(({ input }) => input)).toEqual(
        [0, 1, 2].map((index) => ({ to: "all@new.example", apiKey: `sk-${index}` })),
      );
      await end();
    });

    it("change a recurring job, and follow the job that it runs now", async () => {
      const { leasehold, origin, page, end } = await openOffice(browser, store);
      await leasehold.recurring.put({
        id: "nightly",
        cron: "30 2 * * *",
        timeZone: "Europe/Berlin",
        job: { typeName: "mail", input: { to: "ada@example.com", apiKey: "sk-0" } },
      });
      await page.goto(`${origin}/recurring`);
      await page.getByRole("button", { name: "Edit…" }).click();
      const panel = page.getByRole("complementary", { name: "Change nightly" });
      await panel.getByLabel("Cron expression", { exact: true }).fill("often");
      await panel.getByRole("alert").getByText(/cron/).waitFor();
      await panel.getByLabel("Cron expression", { exact: true }).fill("0 6 * * *");
      await panel.getByRole("list", { name: "Next times" }).getByText("06:00").first().waitFor();
      await panel.getByLabel("If the run before has not finished").selectOption("allow");
      await panel.getByLabel("to", { exact: true }).fill("bob@example.com");
      if (thorough) await expectTidy(page);
      await panel.getByRole("button", { name: "Change nightly" }).click();
      await panel.waitFor({ state: "detached" });
      await page.getByText("0 6 * * *").waitFor();
      expect(await leasehold.recurring.get({ id: "nightly" })).toMatchObject({
        cron: "0 6 * * *",
        overlap: "allow",
        job: { input: { to: "bob@example.com", apiKey: "sk-0" } },
      });
      await page.getByRole("button", { name: "Run now…" }).click();
      const running = page.getByRole("complementary", { name: "Run now: nightly" });
      await running.getByRole("button", { name: "Run now: nightly" }).click();
      await running.getByText("It was started:").getByRole("link").click();
      await page.getByText('"bob@example.com"').waitFor();
      await end();
    });

    it("start a job by a form", async () => {
      const { leasehold, origin, page, end } = await openOffice(browser, store);
      await page.goto(`${origin}/jobs`);
      await page.getByRole("button", { name: "Start a job…" }).click();
      await page
        .getByRole("complementary", { name: "Start a job" })
        .getByLabel("Type", { exact: true })
        .fill("mail");
      const panel = page.getByRole("complementary", { name: "Start mail" });
      await panel.getByLabel("to", { exact: true }).fill("ada@example.com");
      await panel.getByLabel("apiKey").fill("sk-1");
      if (thorough) await expectTidy(page);
      await panel.getByRole("button", { name: "Start mail" }).click();
      await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
      expect((await leasehold.jobs.list()).jobs).toMatchObject([
        { typeName: "mail", input: { to: "ada@example.com", apiKey: "sk-1" } },
      ]);
      await end();
    });

    it("cancel a tree on its own page, and leave what runs", async () => {
      const { leasehold, origin, page, end } = await openOffice(browser, store);
      const { id } = await leasehold.startJobSequence({ typeName: "film", input: null });
      let begin: () => void = () => undefined;
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const worker = await leasehold
        .createWorker()
        .implementJobType({
          typeName: "film",
          process: async ({ signal }) => {
            await leasehold.startJobSequence({
              typeName: "mail",
              input: { to: "ada@example.com", apiKey: "x" },
            });
            begin();
            await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
            return null;
          },
        })
        .start({ pollIntervalMs: 10, workerId: "projector" });
      await begun;
      await page.goto(`${origin}/trees/${id}`);
      await page.getByRole("button", { name: "Cancel…" }).click();
      const plan = page.getByRole("complementary", { name: "Cancel: this tree" });
      await plan.getByText("2 jobs would be cancelled.").waitFor();
      await plan.getByLabel(/only jobs that wait/).check();
      await plan.getByText("1 job would be cancelled.").waitFor();
      if (thorough) await expectTidy(page);
      await plan.getByRole("button", { name: "Cancel 1 job" }).click();
      await plan.getByText("done", { exact: true }).waitFor({ timeout: 15_000 });
      expect((await leasehold.jobs.get({ id }))?.status).toBe("running");

      await page.goto(`${origin}/jobs/${id}`);
      await page.getByRole("link", { name: "projector" }).click();
      await page.getByText("The process of worker projector").waitFor();
      await page.getByRole("link", { name: "What it runs" }).click();
      await page.getByRole("link", { name: "film" }).first().waitFor();
      await leasehold.jobs.cancel({ ids: [id] });
      await worker.stop();
      await end();
    });

    it("pause and limit a queue, and a type that has no rule yet, on the queue's own page", async () => {
      const { leasehold, origin, page, end } = await openOffice(browser, store);
      await leasehold.startJobSequence({ typeName: "film", input: null });
      await page.goto(`${origin}/queues?name=media`);
      const row = page.getByRole("group", { name: "Limits of this queue" }).getByRole("row");
      await row.filter({ hasText: "all types" }).getByRole("button", { name: "Pause…" }).click();
      await page.getByRole("button", { name: "Pause queue media" }).click();
      await row.filter({ hasText: "all types" }).getByText("paused").waitFor();
      await row.filter({ hasText: "film" }).getByRole("button", { name: "Limits…" }).click();
      const panel = page.getByRole("complementary");
      await panel.getByLabel("Jobs at once").first().fill("2");
      if (thorough) await expectTidy(page);
      await panel.getByRole("button", { name: "Limit film in queue media" }).click();
      await row.filter({ hasText: "film" }).getByText("2 at once").waitFor();
      expect(await leasehold.limits.list()).toMatchObject([
        { queue: "media", typeName: null, paused: true },
        { queue: "media", typeName: "film", concurrency: 2 },
      ]);
      await end();
    });
  });
