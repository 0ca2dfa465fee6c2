import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBarriers, installTimeoutMs, openBrowser, serve, watchPage } from "./browser.ts";
import { openBusyShop } from "./busy-shop.ts";
import { openShop } from "./open-shop.ts";
import type { TestStore } from "./stores.ts";
import { pageShapes, waitForPage, walkPages } from "./walk-pages.ts";

const emptyWords: Readonly<Record<string, string>> = {
  "/queues": "Nothing waits, runs or has failed.",
  "/jobs": "There are no jobs yet.",
  "/failed": "Nothing has failed.",
  "/recurring": "There are no recurring jobs.",
  "/limits": "No limits are set, and nothing waits.",
  "/actions": "No actions yet.",
};

/** No part of a page is cut off, and nothing but wide tables and graphs has to be moved sideways. */
const expectToFit = async (page: Page, label: string): Promise<void> => {
  const { content, window } = await page.evaluate<{ content: number; window: number }>(
    "({ content: document.documentElement.scrollWidth, window: innerWidth })",
  );
  expect(content, `${label} is wider than the window`).toBeLessThanOrEqual(window);
};

const desktop = { width: 1_280, height: 900 };
const phone = { width: 390, height: 800 };
/** What is left of a desktop at 200 %. */
const zoomed = { width: 640, height: 450 };

const look = async (page: Page, shape: string): Promise<void> => {
  await page.emulateMedia({ colorScheme: "light" });
  expect(await findBarriers(page), shape).toEqual([]);
  // The same page in other colours.
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await findBarriers(page, ["color-contrast"]), `${shape}, dark`).toEqual([]);
  await page.setViewportSize(phone);
  await expectToFit(page, `${shape} on a phone`);
};

/** Numbers everything that can be reached, and says how many there are. */
const numberControls = `(() => {
  const controls = [...document.querySelectorAll(
    "a[href], button:not([disabled]), input:not([disabled]), select, [tabindex='0']",
  )].filter((element) => element.tabIndex >= 0 && element.checkVisibility());
  for (const [index, element] of controls.entries()) element.setAttribute("data-control", index);
  document.activeElement?.blur();
  return controls.map(({ outerHTML }) => outerHTML.slice(0, 120));
})()`;

const describeFocus = `(() => {
  const { activeElement } = document;
  // A field shows it by its frame, and a job of a tree by its box.
  const places = [activeElement, activeElement.parentElement, activeElement.querySelector("rect")];
  const isSeen = places.filter(Boolean).some((place) => {
    const { outlineStyle, outlineWidth, boxShadow, strokeWidth } = getComputedStyle(place);
    const isOutlined = outlineStyle !== "none" && outlineWidth !== "0px";
    return isOutlined || boxShadow !== "none" || (place.tagName === "rect" && strokeWidth === "3px");
  });
  return { control: activeElement.getAttribute("data-control"), isSeen };
})()`;

/** Every control is reached with the Tab key, and shows that it has the focus. */
const expectKeyboardToReachAll = async (page: Page, shape: string): Promise<void> => {
  // So that nothing is drawn anew meanwhile.
  await page.getByRole("button", { name: "Live", exact: true }).click();
  const controls = await page.evaluate<string[]>(numberControls);
  const reached = new Map<string, boolean>();
  for (let presses = 0; presses < controls.length + 10 && reached.size < controls.length; presses += 1) {
    await page.keyboard.press("Tab");
    const { control, isSeen } = await page.evaluate<{ control: string | null; isSeen: boolean }>(
      describeFocus,
    );
    if (control !== null) reached.set(control, isSeen);
  }
  const missed = controls.filter((_, index) => !reached.has(String(index)));
  expect(missed, `${shape}, not reached with the keyboard`).toEqual([]);
  const unseen = controls.filter((_, index) => reached.get(String(index)) === false);
  expect(unseen, `${shape}, has the focus and does not show it`).toEqual([]);
};

const lookThoroughly = async (page: Page, shape: string): Promise<void> => {
  for (const [name, size] of Object.entries({ desktop, phone, zoomed })) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const label = `${shape}, ${name}, ${colorScheme}`;
      expect(await findBarriers(page), label).toEqual([]);
      await expectToFit(page, label);
    }
  }
  expect(await page.evaluate("document.getAnimations().length"), `${shape} moves`).toBe(0);
  await page.setViewportSize(desktop);
  await expectKeyboardToReachAll(page, shape);
};

/** What every page has to do over every store. */
export const describePages = (store: TestStore, { thorough }: { thorough: boolean }): unknown =>
  describe(`pages over ${store.name}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    }, installTimeoutMs);
    afterAll(async () => {
      await browser.close();
      await store.end();
    });

    it("open without an error, and are accessible", async () => {
      const { stateAdapter, close: closeStore } = await store.open();
      const environment = { label: "production", tone: "danger" } as const;
      const { dashboard } = await openBusyShop(stateAdapter, { environment });
      const { origin, close } = await serve(dashboard);
      const { page, complaints } = await watchPage(browser);
      const shapes = await walkPages(page, origin, async (shape) => {
        await (thorough ? lookThoroughly : look)(page, shape);
        await page.setViewportSize(desktop);
        expect(complaints, shape).toEqual([]);
      });
      expect(shapes).toEqual(pageShapes);
      await page.context().close();
      await close();
      await dashboard.close();
      await closeStore();
    }, 300_000);

    it("say what to do where there is nothing", async () => {
      const { stateAdapter, close: closeStore } = await store.open();
      const { dashboard } = await openShop(["read"], {}, stateAdapter);
      const { origin, close } = await serve(dashboard);
      const { page, complaints } = await watchPage(browser);
      for (const [path, words] of Object.entries(emptyWords)) {
        await page.goto(origin + path);
        await page.getByText(words).waitFor();
      }
      for (const path of ["/", "/workers"]) {
        await page.goto(origin + path);
        await waitForPage(page);
      }
      for (const [path, words] of [
        ["/jobs/nothing", "There is no job with this id."],
        ["/trees/nothing", "There is no tree with this root."],
        ["/nowhere", "There is no such page."],
        ["/jobs/a/b", "There is no such page."],
        ["/jobs?typeName=nothing", "No job matches these filters."],
      ] as const) {
        await page.goto(origin + path);
        await page.getByText(words).waitFor();
      }
      expect(complaints).toEqual([]);
      await page.context().close();
      await close();
      await dashboard.close();
      await closeStore();
    }, 60_000);
  });
