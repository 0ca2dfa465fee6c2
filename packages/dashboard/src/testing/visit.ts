import type { Browser } from "playwright-core";
import { expect } from "vitest";
import type { DashboardOptions } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { serve, watchPage } from "./browser.ts";
import { openBusyShop } from "./busy-shop.ts";
import { openShop } from "./open-shop.ts";
import type { TestStore } from "./stores.ts";

type Shop = Awaited<ReturnType<typeof openShop>>;

/** A shop, and a page of a browser that shows it. */
export interface Visit extends Shop {
  readonly origin: string;
  readonly page: Awaited<ReturnType<typeof watchPage>>["page"];
}

const visit = async (
  browser: Browser,
  { close: closeStore }: { close(): Promise<void> },
  shop: Shop,
  look: (visit: Visit) => Promise<void>,
): Promise<void> => {
  const { origin, close } = await serve(shop.dashboard);
  const { page, complaints } = await watchPage(browser);
  await look({ ...shop, origin, page });
  expect(complaints).toEqual([]);
  await page.context().close();
  await shop.dashboard.close();
  await close();
  await closeStore();
};

/** Looks at a shop without jobs. */
export const visitShop = async (
  browser: Browser,
  store: TestStore,
  look: (visit: Visit) => Promise<void>,
  can: Parameters<typeof openShop>[0] = rights,
): Promise<void> => {
  const opened = await store.open();
  await visit(browser, opened, await openShop(can, {}, opened.stateAdapter), look);
};

/** Looks at a shop with jobs in every state. */
export const visitBusyShop = async (
  browser: Browser,
  store: TestStore,
  look: (visit: Visit & { readonly failedId: string }) => Promise<void>,
  options: Partial<DashboardOptions> = {},
): Promise<void> => {
  const opened = await store.open();
  const shop = await openBusyShop(opened.stateAdapter, options);
  await visit(browser, opened, shop, (one) => look({ ...one, failedId: shop.failedId }));
};
