import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openBrowser, serve, watchPage } from "../browser.ts";
import { openShopWithPast } from "../shop-with-past.ts";
import { waitForPage } from "../walk-pages.ts";
import { placeOrder } from "./place-order.ts";

const folder = new URL("../../../../../docs/images/", import.meta.url);
const largestBytes = 150_000;

/** The same shop at the same time in every run, so that a picture changes only when the page does. Check it before you commit it. */
it("takes the pictures of the documentation", async () => {
  const shop = await openShopWithPast();
  const { orderId, invoiceId } = await placeOrder(shop);
  const { origin, close } = await serve(shop.dashboard);
  const browser = await openBrowser();

  const views: Readonly<
    Record<string, { path: string; height: number; prepare?(page: Page): Promise<void> }>
  > = {
    overview: { path: "/", height: 900 },
    failed: {
      path: "/failed",
      height: 620,
      prepare: async (page) => {
        await page.getByRole("button", { name: "Redrive…" }).first().click();
        await page.getByText("dry run").waitFor();
        await page.mouse.move(0, 0);
      },
    },
    job: { path: `/jobs/${invoiceId}`, height: 900 },
    tree: { path: `/trees/${orderId}`, height: 560 },
  };
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [name, { path, height, prepare }] of Object.entries(views)) {
      const { page, complaints } = await watchPage(browser, {
        colorScheme,
        reducedMotion: "reduce",
        locale: "en-GB",
        timezoneId: "UTC",
        viewport: { width: 1_280, height },
      });
      await page.goto(origin + path);
      await waitForPage(page);
      await prepare?.(page);
      // The chart is drawn with the answer to a second question.
      await page.waitForLoadState("load");
      const file = fileURLToPath(new URL(`dashboard-${name}-${colorScheme}.png`, folder));
      await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
      expect(statSync(file).size, name).toBeLessThan(largestBytes);
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  }
  await browser.close();
  await close();
  await shop.close();
}, 300_000);
