import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installTimeoutMs, openBrowser, serve, type WatchedPage, watchPage } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";
import { openShopWithPast, type ShopWithPast } from "../testing/shop-with-past.ts";

let browser: Browser;

let shop: ShopWithPast;

let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  [browser, shop] = await Promise.all([openBrowser(), openShopWithPast()]);
  server = await serve(shop.dashboard);
}, installTimeoutMs);

afterAll(async () => {
  await browser.close();
  await server.close();
  await shop.close();
});

const open = async (path: string): Promise<WatchedPage> => {
  const watched = await watchPage(browser, { timezoneId: "UTC" });
  watched.page.setDefaultTimeout(6_000);
  await watched.page.goto(server.origin + path);
  return watched;
};

const figure = (page: Page, label: string) => page.locator(".figure", { hasText: label }).locator(".value");

const strip = (page: Page, queue: string) => page.getByRole("img", { name: `${queue}: time to start` });

const bar = (page: Page) => page.getByText("You are looking at");

/** How light the colours of the heat map are, from calm to late. */
const readLightness = (page: Page): Promise<number[]> =>
  page.evaluate(`[...document.querySelectorAll(".heat-scale rect")].map((rect) => {
    const [red, green, blue] = getComputedStyle(rect).fill.match(/\\d+/g).map(Number);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  })`);

it("shows the time to start as colours that differ in lightness, and as a table", async () => {
  const { page, complaints } = await open("/");
  await strip(page, "mail").waitFor();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await readLightness(page);
  expect(light).toHaveLength(6);
  expect(light).toEqual([...light].sort((a, b) => b - a));
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await readLightness(page);
  expect(dark).toEqual([...dark].sort((a, b) => a - b));

  const card = page.getByRole("region", { name: "Time to start, by queue" });
  await card.getByRole("button", { name: "Show as table" }).click();
  const row = card.getByRole("row", { name: /^13:40/ });
  await expect.poll(() => row.getByRole("cell").count()).toBe(5);
  expect(await row.getByRole("cell").nth(2).textContent()).toMatch(/^\d+m /);
  await row.getByRole("link").click();
  await page.waitForURL(`${server.origin}/?at=2026-03-03T13%3A41Z`);
  expect(complaints).toEqual([]);
  await page.context().close();
});

it("marks the deployment that came, and tells failures of types apart", async () => {
  const { page, complaints } = await open("/");
  await page.getByText("7f3c2a1 since 13:20").first().waitFor();
  await page.getByText(/^left over: \d+$/).waitFor();
  const unfinished = page.getByRole("region", { name: "Throughput" }).locator("figure").last();
  await unfinished.getByRole("button", { name: "Show as table" }).click();
  const reckoned = async (time: string): Promise<number> =>
    Number(await unfinished.getByRole("row", { name: time }).getByRole("cell").last().textContent());
  expect(await reckoned("13:10:00")).toBe(0);
  // As many as are known to wait and run now.
  expect(await reckoned("13:43:00")).toBe(154 + 12);
  const failures = page.getByRole("region", { name: "Failures" });
  expect(await failures.getByRole("row").nth(0).textContent()).toMatch(/^send-email\d+9\d(\.\d)? %$/);
  await failures.getByRole("button", { name: "Show as table" }).click();
  await failures.getByRole("row", { name: /^13:20:00 ?7f3c2a1/ }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

it("shows the past range that the user picks, and goes back", async () => {
  const { page, complaints } = await open("/?range=15m");
  await strip(page, "mail").waitFor();
  expect(await figure(page, "Runnable now").textContent()).not.toBe("0");
  const { width } = (await strip(page, "mail").boundingBox())!;
  // The first minute of fifteen and a bit, which ends at 13:30.
  await strip(page, "mail").click({ position: { x: width / 32, y: 10 } });
  await page.waitForURL(`${server.origin}/?range=15m&at=2026-03-03T13%3A30Z`);
  await bar(page).waitFor();
  expect(await bar(page).textContent()).toContain("13:15 – 13:30");
  await expect.poll(() => figure(page, "Created").textContent()).toBe("49/min");
  expect(await page.getByText("735 jobs").count()).toBe(1);
  // What is not kept of the past is not there, and it is said why.
  expect(await figure(page, "Runnable now").count()).toBe(0);
  await page.getByText("What waited and ran then is not kept").waitFor();
  expect(await figure(page, "Left over").textContent()).toMatch(/^\d+$/);

  await page.reload();
  await bar(page).waitFor();
  await page.getByRole("link", { name: "Queues" }).click();
  await page.waitForURL(`${server.origin}/queues?range=15m&at=2026-03-03T13%3A30Z`);
  await bar(page).waitFor();
  await page.getByRole("button", { name: "Earlier" }).click();
  await expect.poll(() => bar(page).textContent()).toContain("13:00 – 13:15");
  const mail = page.getByRole("row", { name: /^mail/ });
  expect(await mail.getByRole("cell").nth(1).textContent()).toBe("360");
  await page.goBack();
  await expect.poll(() => bar(page).textContent()).toContain("13:15 – 13:30");
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.waitForURL(`${server.origin}/queues?range=15m`);
  await expect.poll(() => bar(page).count()).toBe(0);
  await page.getByRole("columnheader", { name: "Runnable" }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

it("shows a past range with the keyboard alone", async () => {
  const { page } = await open("/");
  const slider = page.getByRole("slider", { name: "Moment" });
  await slider.focus();
  for (let press = 0; press < 4; press += 1) await page.keyboard.press("ArrowLeft");
  expect(await slider.getAttribute("aria-valuetext")).toBe("13:40");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${server.origin}/?at=2026-03-03T13%3A41Z`);
  await bar(page).waitFor();
  await page.context().close();
});

it("ignores a range that ends in the future, or nowhere", async () => {
  const { page } = await open("/?at=2099-01-01T00:00Z");
  await figure(page, "Runnable now").waitFor();
  await page.goto(`${server.origin}/?at=yesterday`);
  await figure(page, "Runnable now").waitFor();
  expect(await bar(page).count()).toBe(0);
  await page.context().close();
});

it("lists queues, and shows all there is to one of them", async () => {
  const { page, complaints } = await open("/");
  await strip(page, "mail").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.waitForURL(`${server.origin}/queues`);
  const mail = page.getByRole("row", { name: /^mail/ });
  await expect.poll(() => mail.getByRole("cell").count()).toBe(13);
  const cells = await mail.getByRole("cell").allTextContents();
  expect(cells[5]).toBe("24 /min");
  // More mails come than are sent.
  expect(cells.slice(-2)).toEqual(["grows", "1"]);
  await mail.getByRole("link", { name: "mail", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "mail" }).waitFor();
  await page.getByText("more come than end").waitFor();
  await page
    .getByRole("row", { name: /^send-email/ })
    .last()
    .waitFor();
  await page.getByRole("row", { name: /^post-7f3c2a1/ }).waitFor();
  const limits = page.getByRole("region", { name: "Limits and pauses" });
  await limits.getByText("open").first().waitFor();
  await limits.getByRole("link", { name: "All limits" }).click();
  await page.waitForURL(`${server.origin}/limits?queue=mail`);
  expect(complaints).toEqual([]);
  await page.context().close();
});

it("opens queues of any name, and says what to do about one without jobs", async () => {
  const names = [
    "a/b",
    "..",
    "?name=x&at=1#y",
    "%2e%2e/%",
    '<img src=x onerror="window.wasHere=1">',
    "ж 漢 🙂",
  ];
  const { leasehold, dashboard } = await openShop(["read"]);
  for (const queue of names)
    await leasehold.startJobSequence({ typeName: "mail", queue, input: { to: "ada" } });
  const own = await serve(dashboard);
  const { page, complaints } = await watchPage(browser);
  page.setDefaultTimeout(6_000);
  await page.goto(`${own.origin}/queues`);
  for (const name of names) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await page.getByText("No live worker serves this queue.").waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await page.getByRole("link", { name: "All queues" }).click();
  }
  await page.goto(`${own.origin}/queues?name=nothing`);
  await page.getByText("There is nothing in this queue.").waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
  await own.close();
  await dashboard.close();
  await leasehold.close();
}, 30_000);
