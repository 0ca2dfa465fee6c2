import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findBarriers, installTimeoutMs, openBrowser } from "../testing/browser.ts";
import { inProcess } from "../testing/stores.ts";
import { visitBusyShop, visitShop } from "../testing/visit.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

it("names filters that came with a link as it shows them", () =>
  visitBusyShop(browser, inProcess(), async ({ origin, page, failedId }) => {
    await page.goto(`${origin}/jobs?rootSequenceId=${failedId}`);
    await page.getByRole("button", { name: /^Remove the filter: tree/ }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
  }));

it("plans for the group with the focus, not for the first one", () =>
  visitBusyShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "eve" } });
    await leasehold.jobs.cancel({ ids: [id] });
    await page.goto(`${origin}/failed`);
    await expect.poll(() => page.locator("[data-row]").count()).toBe(2);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const second = await page.locator("[data-row]").nth(1).locator(":focus").textContent();
    await page.keyboard.press("p");
    const plan = page.getByRole("complementary", { name: `Redrive: ${second}` });
    await plan.getByText("1 job would run again.").waitFor();
    await plan.getByRole("button", { name: "Redrive 1 job" }).click();
    await plan.getByText("1 runs again.").waitFor();
  }));

it("goes back to the place in the list", () =>
  visitShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    await leasehold.startJobSequences({
      sequences: Array.from({ length: 60 }, (_, index) => ({
        typeName: "mail" as const,
        input: { to: `user${index}` },
      })),
    });
    await page.goto(`${origin}/jobs`);
    await page.getByText('{"to":"user30"}').waitFor();
    const link = page.getByRole("row").filter({ hasText: '{"to":"user30"}' }).getByRole("link").first();
    await link.scrollIntoViewIfNeeded();
    const before = await page.evaluate<number>("scrollY");
    expect(before).toBeGreaterThan(500);
    await link.click();
    await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
    await expect.poll(() => page.evaluate<number>("scrollY")).toBeLessThan(100);
    await page.goBack();
    await expect.poll(() => page.evaluate<number>("scrollY")).toBe(before);
  }));

it("sorts the table of queues, and keeps the order in the address", () =>
  visitShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    for (const [queue, count] of [
      ["a", 1],
      ["b", 3],
      ["c", 2],
    ] as const)
      for (let job = 0; job < count; job += 1)
        await leasehold.startJobSequence({ typeName: "mail", queue, input: { to: "ada" } });
    const names = () => page.locator("table.queues tbody tr td:first-child a").allTextContents();
    await page.goto(`${origin}/queues`);
    await expect.poll(names).toEqual(["a", "b", "c"]);
    const heading = page.getByRole("columnheader", { name: "Runnable" });
    await heading.getByRole("button").click();
    await expect.poll(names).toEqual(["b", "c", "a"]);
    await expect.poll(() => heading.getAttribute("aria-sort")).toBe("descending");
    await page.reload();
    await expect.poll(names).toEqual(["b", "c", "a"]);
    await heading.getByRole("button").click();
    await expect.poll(names).toEqual(["a", "c", "b"]);
  }));

it("shows rows as cards on a phone, without moving sideways", () =>
  visitBusyShop(browser, inProcess(), async ({ origin, page }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of ["/jobs", "/recurring", "/limits", "/workers", "/queues", "/actions"]) {
      await page.goto(origin + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByLabel("Loading").waitFor({ state: "detached" });
      const tooWide = await page.evaluate<string[]>(
        `[...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel)`,
      );
      expect(tooWide, path).toEqual([]);
    }
    await page.goto(`${origin}/recurring`);
    // The labels are set after the rows are drawn.
    await page.locator('td[data-label="Id and type"]').first().waitFor();
  }));

it("shows every button of a recurring job at 1280 pixels, also next to a panel", () =>
  visitBusyShop(browser, inProcess(), async ({ origin, page }) => {
    await page.goto(`${origin}/recurring`);
    const isInside = async (): Promise<boolean> => {
      const [button, card] = [
        await page.getByRole("button", { name: "Run now…" }).boundingBox(),
        await page.getByRole("region", { name: "Recurring jobs" }).boundingBox(),
      ];
      return button!.x + button!.width <= card!.x + card!.width;
    };
    await expect.poll(isInside).toBe(true);
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByRole("complementary").waitFor();
    await expect.poll(isInside).toBe(true);
  }));

it("shows how far a running job is", () =>
  visitShop(browser, inProcess(), async ({ leasehold, origin, page }) => {
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "mail",
        process: async ({ signal, reportProgress }) => {
          await reportProgress({ done: 3, total: 4 });
          begin();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          return null;
        },
      })
      .start({ pollIntervalMs: 10 });
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
    await begun;
    await page.goto(`${origin}/jobs/${id}`);
    await page.getByText("75 % done").waitFor();
    await leasehold.jobs.cancel({ ids: [id] });
    await worker.stop();
  }));
