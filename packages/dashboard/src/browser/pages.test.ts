import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createInProcessStateAdapter } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBarriers, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { openBusyShop } from "../testing/busy-shop.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, 60_000);
afterAll(() => browser.close());

const stores: Readonly<Record<string, () => Promise<AnyStateAdapter>>> = {
  "in process": async () => createInProcessStateAdapter(),
  SQLite: async () => createSqliteStateAdapter({ file: ":memory:" }),
};

const looks = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 800 } },
} as const;

describe.each(Object.entries(stores))("the pages over a store %s", (_name, createStore) => {
  it.each(Object.entries(looks))(
    "open without an error, and without a barrier to anybody: %s",
    async (_look, options) => {
      const stateAdapter = await createStore();
      const { dashboard, failedId } = await openBusyShop(stateAdapter, {
        environment: { label: "production", tone: "danger" },
      });
      const { origin, close } = await serve(dashboard);
      const { page, complaints } = await watchPage(browser, options);
      const headings: Readonly<Record<string, string>> = {
        "/": "Overview",
        "/jobs": "Jobs",
        "/jobs?status=failed": "Jobs",
        "/failed": "Failed",
        [`/jobs/${failedId}`]: "order",
        [`/trees/${failedId}`]: "Tree of order",
        "/recurring": "Recurring jobs",
        "/limits": "Limits",
        "/workers": "Workers",
        "/actions": "Actions",
        "/nowhere": "Not found",
      };
      for (const [path, heading] of Object.entries(headings)) {
        await page.goto(origin + path);
        await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
        await page.waitForLoadState("networkidle");
        expect(complaints, path).toEqual([]);
        expect(await findBarriers(page), path).toEqual([]);
        const width = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect(width, `${path} is wider than the window`).toBeLessThanOrEqual(page.viewportSize()!.width);
      }
      await page.context().close();
      await close();
      await dashboard.close();
    },
    60_000,
  );
});

it("says what to do where there is nothing, and keeps the theme that was chosen", async () => {
  const { dashboard } = await openShop(["read"]);
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  await page.goto(`${origin}/jobs`);
  await page.getByText("There are no jobs yet.").waitFor();
  await page.goto(`${origin}/failed`);
  await page.getByText("Nothing has failed.").waitFor();
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
});
