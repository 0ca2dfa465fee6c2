import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createInProcessStateAdapter } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installTimeoutMs, findBarriers, openBrowser, serve, watchPage } from "../testing/browser.ts";
import { openBusyShop } from "../testing/busy-shop.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);
afterAll(() => browser.close());

const openAll = async (
  stateAdapter: AnyStateAdapter,
  look: (page: Page, path: string) => Promise<void>,
): Promise<void> => {
  const environment = { label: "production", tone: "danger" } as const;
  const { dashboard, failedId } = await openBusyShop(stateAdapter, { environment });
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  const headings: Readonly<Record<string, string>> = {
    "/": "Overview",
    "/jobs": "Jobs",
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
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.goto(origin + path);
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await page.getByLabel("Loading").waitFor({ state: "detached" });
    await look(page, path);
    expect(complaints, path).toEqual([]);
  }
  await page.context().close();
  await close();
  await dashboard.close();
};

it("opens every page without an error, and without a barrier to anybody", async () => {
  await openAll(createInProcessStateAdapter(), async (page, path) => {
    await page.emulateMedia({ colorScheme: "light" });
    expect(await findBarriers(page), path).toEqual([]);
    // The same page in other colours.
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await findBarriers(page, ["color-contrast"]), `${path}, dark`).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await findBarriers(page), `${path}, on a phone`).toEqual([]);
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(width, `${path} is wider than a phone`).toBeLessThanOrEqual(390);
  });
}, 90_000);

it(
  "opens every page over SQLite",
  async () => {
    await openAll(await createSqliteStateAdapter({ file: ":memory:" }), async () => undefined);
  },
  installTimeoutMs,
);

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
