import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { serve, watchPage } from "./browser.ts";
import { openHostileShop } from "./hostile-shop.ts";
import type { TestStore } from "./stores.ts";
import { waitForPage, walkPages } from "./walk-pages.ts";

/** Whatever of the data has become more than text. */
const comeToLife = `({
  wasHere: "wasHere" in globalThis,
  elements: [...document.querySelectorAll(
    "[data-evil], img, iframe, style, object, embed, base, template, math, script:not([src]), [srcdoc], a[href^=javascript], a[href^=data]",
  )].map(({ outerHTML }) => outerHTML),
  handlers: [...document.querySelectorAll("*")].flatMap((element) =>
    element.getAttributeNames().filter((name) => name.startsWith("on"))),
  outside: [...document.links].map(({ origin }) => origin).filter((origin) => origin !== location.origin),
  polluted: Object.keys(Object.prototype),
})`;

const dead = { wasHere: false, elements: [], handlers: [], outside: [], polluted: [] };

/** Opens every page of a shop whose every text is hostile, and the pages and plans of each of its jobs. */
export const visitHostileShop = async (
  browser: Browser,
  store: TestStore,
  {
    texts,
    longest,
    jobs,
  }: {
    readonly texts: readonly string[];
    readonly longest: number;
    /** How many jobs to look at one by one. */
    readonly jobs: number;
  },
): Promise<void> => {
  const { stateAdapter, close: closeStore } = await store.open();
  const hasFreeIds = store.name !== "PostgreSQL";
  const { dashboard, leasehold, ids } = await openHostileShop(stateAdapter, { texts, longest, hasFreeIds });
  const { origin, close } = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  const expectText = async (label: string): Promise<void> => {
    expect(await page.evaluate(comeToLife), label).toEqual(dead);
    expect(complaints, label).toEqual([]);
  };
  const open = async (path: string): Promise<Page> => {
    await page.goto(origin + path);
    await waitForPage(page);
    await page.getByText("wasHere").first().waitFor({ state: "attached" });
    return page;
  };
  await walkPages(page, origin, async (shape) => {
    await page.getByText("wasHere").first().waitFor({ state: "attached" });
    await expectText(shape);
  });
  for (const path of ["/jobs?limit=200", "/failed", "/failed?by=type", "/actions", "/recurring"]) {
    await open(path);
    await expectText(path);
  }
  for (const [index, id] of ids.slice(0, jobs).entries()) {
    const text = texts[index]!;
    await open(`/jobs/${encodeURIComponent(id)}`);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(text);
    for (const tab of ["Output", "Progress"]) await page.getByRole("button", { name: tab }).click();
    await page.getByRole("button", { name: "Redrive…" }).click();
    await page.getByRole("button", { name: "Redrive 1 job" }).waitFor();
    await expectText(`job ${text}`);
    await open(`/trees/${encodeURIComponent(id)}`);
    await expectText(`tree ${text}`);
    await open(`/jobs?${new URLSearchParams({ queue: text, typeName: text, deduplicationKey: text })}`);
    expect(await page.locator("tbody tr").count(), `list ${text}`).toBe(1);
    await expectText(`list ${text}`);
  }
  await page.context().close();
  await dashboard.close();
  await leasehold.close();
  await close();
  await closeStore();
};
