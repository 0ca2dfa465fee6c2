import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installTimeoutMs, openBrowser } from "./browser.ts";
import type { TestStore } from "./stores.ts";
import { type Visit, visitBusyShop, visitShop } from "./visit.ts";

type Job = Awaited<ReturnType<Visit["leasehold"]["jobs"]["list"]>>["jobs"][number];

const statusOf = async ({ leasehold }: Visit, id: string): Promise<Job["status"] | undefined> =>
  (await leasehold.jobs.get({ id }))?.status;

/** What people do on the page, over every store. */
export const describeActions = (store: TestStore): unknown =>
  describe(`actions over ${store.name}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    }, installTimeoutMs);
    afterAll(async () => {
      await browser.close();
      await store.end();
    });

    it("redrive what failed, with the keyboard alone", () =>
      visitBusyShop(browser, store, async ({ leasehold, origin, page }) => {
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
        expect((await leasehold.jobs.list({ status: "failed" })).jobs).toHaveLength(2);
        expect(await page.locator(":focus").textContent()).toBe(`Redrive ${cause}`);
        for (let presses = 0; presses < 10; presses += 1) {
          if ((await page.locator(":focus").textContent()) === "Redrive 2 jobs") break;
          await page.keyboard.press("Tab");
        }
        await page.keyboard.press("Enter");
        await plan.getByText("2 run again.").waitFor();
        expect((await leasehold.jobs.list({ status: "failed" })).jobs).toEqual([]);
        await page.keyboard.press("Escape");
        await plan.waitFor({ state: "detached" });
        await page.keyboard.press("g");
        await page.keyboard.press("a");
        await page.getByRole("cell", { name: "2 changed" }).waitFor();
      }));

    it("delete selected jobs only after their number was typed in", () =>
      visitBusyShop(browser, store, async ({ leasehold, origin, page }) => {
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
        expect((await leasehold.jobs.list({ status: "failed" })).jobs).toEqual([]);
      }));

    it("run, cancel, redrive and delete one job on its own page", () =>
      visitBusyShop(browser, store, async (visit) => {
        const { leasehold, origin, page, failedId } = { ...visit };
        const later = await leasehold.startJobSequence({
          typeName: "mail",
          input: { to: "eve" },
          schedule: { afterMs: 3_600_000 },
        });
        const act = async (name: string, confirm: string): Promise<void> => {
          await page.getByRole("button", { name: `${name}…` }).click();
          const plan = page.getByRole("complementary");
          if (name === "Delete tree") await plan.getByLabel(/Type 1 to confirm/).fill("1");
          await plan.getByRole("button", { name: confirm, exact: true }).click();
          await plan.getByText("done", { exact: true }).waitFor();
          await page.keyboard.press("Escape");
        };
        await page.goto(`${origin}/jobs/${later.id}`);
        await page.getByText("pending · scheduled").first().waitFor();
        await page.getByRole("button", { name: "Reschedule…" }).click();
        const plan = page.getByRole("complementary");
        await plan.getByLabel("at a time of your choice").check();
        await plan.getByLabel(/^Date and time/).fill("2041-02-03T04:05:06");
        await plan.getByRole("button", { name: "See what would change" }).click();
        await plan.getByText("1 job would run at another time.").waitFor();
        await plan.getByRole("button", { name: "Reschedule 1 job", exact: true }).click();
        await plan.getByText("done", { exact: true }).waitFor();
        await page.keyboard.press("Escape");
        expect((await leasehold.jobs.get({ id: later.id }))?.scheduledAt).toEqual(
          new Date(2041, 1, 3, 4, 5, 6),
        );
        await act("Run now", "Run now 1 job");
        expect((await leasehold.jobs.get({ id: later.id }))?.scheduledAt.getTime()).toBeLessThanOrEqual(
          (await leasehold.getTime()).getTime(),
        );
        await act("Cancel", "Cancel 1 job");
        expect(await statusOf(visit, later.id)).toBe("failed");
        await page.getByText(/It failed .* cancelled/).waitFor();

        await page.goto(`${origin}/jobs/${failedId}`);
        await act("Redrive", "Redrive 1 job");
        expect(await statusOf(visit, failedId)).toBe("pending");

        await page.goto(`${origin}/jobs/${later.id}`);
        await act("Delete tree", "Delete 1 tree");
        expect(await statusOf(visit, later.id)).toBeUndefined();
        await page.getByText("There is no job with this id.").waitFor();
      }));

    it("do what a plan said to all that match, at a pace, stop, and resume", () =>
      visitShop(browser, store, async ({ leasehold, origin, page }) => {
        await leasehold.startJobSequences({
          sequences: Array.from({ length: 12 }, () => ({ typeName: "mail", input: { to: "ada" } }) as const),
        });
        await page.goto(`${origin}/jobs?typeName=mail&status=pending&status=blocked&status=running`);
        await page.getByText("All that match:").waitFor();
        await page.getByRole("button", { name: "Cancel…" }).click();
        const plan = page.getByRole("complementary");
        await plan.getByText("12 jobs would be cancelled").first().waitFor();
        // What comes to match later is not part of the plan.
        const late = await leasehold.startJobSequence({ typeName: "mail", input: { to: "late" } });
        await plan.getByLabel(/5 a second/).check();
        await plan.getByRole("button", { name: "Cancel 12 jobs" }).click();
        await plan.getByRole("button", { name: "Stop" }).click();
        await plan.getByText("stopped").waitFor();
        const left = (await leasehold.jobs.list({ status: "pending" })).jobs;
        expect(left.length).toBeGreaterThan(1);
        await page.goto(`${origin}/actions`);
        await page.getByRole("button", { name: "Resume" }).click();
        await page.getByRole("cell", { name: /^12 changed/ }).waitFor({ timeout: 15_000 });
        expect((await leasehold.jobs.list({ status: "pending" })).jobs.map(({ id }) => id)).toEqual([
          late.id,
        ]);
      }));

    it("pause and resume queues and recurring jobs, and run one of those now", () =>
      visitBusyShop(browser, store, async ({ leasehold, origin, page }) => {
        const panel = page.getByRole("complementary");
        const act = async (name: string, title: string, says: string | RegExp): Promise<void> => {
          await page
            .getByRole("button", { name: `${name}…` })
            .first()
            .click();
          await panel.getByText(says).waitFor();
          await panel.getByRole("button", { name: title, exact: true }).click();
          await panel.waitFor({ state: "detached" });
        };
        await page.goto(`${origin}/limits`);
        await act("Pause", "Pause queue default", "None of its jobs start any more");
        await page.getByRole("cell", { name: "paused" }).waitFor();
        expect((await leasehold.limits.list()).some(({ paused }) => paused)).toBe(true);
        await act("Resume", "Resume queue default", "Its jobs start again at once");
        await page.getByRole("cell", { name: "paused" }).waitFor({ state: "detached" });
        expect((await leasehold.limits.list()).some(({ paused }) => paused)).toBe(false);

        await page.getByRole("button", { name: "Limits…" }).first().click();
        await panel.getByLabel("Jobs at once").first().fill("7");
        await panel.getByLabel("Starts", { exact: true }).first().fill("100");
        await panel.getByLabel("Starts in a").first().selectOption("minute");
        await panel.getByText("All together: 7 at once, 100 in 1m, instead of 5 at once.").waitFor();
        await panel.getByRole("button", { name: "Limit queue default" }).click();
        await page.getByRole("cell", { name: "7 at once, 100 in 1m" }).waitFor();
        expect(await leasehold.limits.list()).toMatchObject([
          { concurrency: 7, rate: { limit: 100, perMs: 60_000 }, perGroup: null },
        ]);

        await page.goto(`${origin}/recurring`);
        await act("Pause", "Pause nightly", "It starts no more jobs until it is resumed.");
        await page.getByRole("cell", { name: "paused" }).waitFor();
        await act("Resume", "Resume nightly", "It continues with its next time.");
        await page.getByRole("cell", { name: "paused" }).waitFor({ state: "detached" });
        const before = (await leasehold.jobs.list({ typeName: "mail" })).jobs.length;
        await page.getByRole("button", { name: "Run now…" }).click();
        await panel.getByText("A job of type mail is started now.").waitFor();
        await panel.getByRole("button", { name: "Run now: nightly" }).click();
        await panel.getByText("It was started:").waitFor();
        expect((await leasehold.jobs.list({ typeName: "mail" })).jobs).toHaveLength(before + 1);
        await page.goto(`${origin}/actions`);
        for (const name of [
          "pause",
          "resume",
          "set limits",
          "recurring pause",
          "recurring resume",
          "recurring trigger",
        ])
          await page.getByRole("cell", { name, exact: true }).waitFor();
      }));

    it("find jobs by a text in their input", () =>
      visitBusyShop(browser, store, async ({ origin, page }) => {
        await page.goto(`${origin}/jobs`);
        await page.getByText("All that match:").waitFor();
        await page.getByLabel("Input has").fill("bob");
        await page.keyboard.press("Enter");
        await page.getByText("Newest 1", { exact: true }).waitFor();
        expect(await page.getByText("All that match:").count()).toBe(0);
        await page.getByLabel("Input has").fill("hunter2");
        await page.keyboard.press("Enter");
        await page.getByText("No job matches these filters.").waitFor();
      }));

    it("keep rows in place when jobs come in, and say how many did", () =>
      visitBusyShop(browser, store, async ({ leasehold, origin, page }) => {
        await page.clock.install();
        await page.goto(`${origin}/jobs?typeName=mail`);
        await page.getByText("Newest 2").waitFor();
        await leasehold.startJobSequence({ typeName: "mail", input: { to: "eve" } });
        await page.clock.fastForward(5_000);
        const fresh = page.getByRole("button", { name: "1 new" });
        await fresh.waitFor();
        expect(await page.locator("tbody tr").count()).toBe(2);
        await fresh.click();
        await page.getByText("Newest 3").waitFor();
      }));

    it("are not offered to a user who may only read", () =>
      visitShop(
        browser,
        store,
        async ({ leasehold, origin, page }) => {
          await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
          await page.goto(`${origin}/jobs`);
          await page.getByRole("link", { name: "mail" }).first().click();
          await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
          await page.getByText(/hidden · object/).waitFor();
          for (const name of [/Run now/, /Cancel/, /Delete/, /Redrive/])
            expect(await page.getByRole("button", { name }).count()).toBe(0);
        },
        ["read"],
      ));

    it("show a tree of 500 jobs, folded, and lead to what is in a fold", () =>
      visitShop(browser, store, async ({ leasehold, startWorker, origin, page }) => {
        const root = await leasehold.startJobSequence({ typeName: "campaign", input: { mails: 499 } });
        const worker = await startWorker();
        await expect
          .poll(async () => (await leasehold.jobs.list({ status: "completed", limit: 500 })).jobs, {
            timeout: 15_000,
          })
          .toHaveLength(500);
        await worker.stop();
        await page.goto(`${origin}/trees/${root.id}`);
        await page.getByText("500 jobs", { exact: false }).waitFor();
        await page.getByRole("link", { name: /^49[89] × mail/ }).click();
        await page.getByText("Newest 50").waitFor();
        expect(new URL(page.url()).searchParams.get("rootSequenceId")).toBe(root.id);
      }));

    it("keep the theme and the zone that were chosen", () =>
      visitShop(browser, store, async ({ origin, page }) => {
        await page.goto(`${origin}/jobs`);
        await page.getByRole("button", { name: "Theme: system" }).click();
        await page.getByRole("button", { name: "Theme: light" }).click();
        await page.getByRole("button", { name: /^Times in/ }).click();
        await page.reload();
        await page.getByRole("button", { name: "Theme: dark" }).waitFor();
        await page.getByRole("button", { name: "Times in UTC" }).waitFor();
        expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
      }));
  });
