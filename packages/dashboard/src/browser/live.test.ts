import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toNodeListener } from "../node-listener.ts";
import { installTimeoutMs, listen, openBrowser, watchPage } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, installTimeoutMs);

afterAll(() => browser.close());

type Shop = Awaited<ReturnType<typeof openShop>>;

/** Notes what is asked for, and which streams are open. */
const observe = ({ dashboard }: Shop, { refuseStreams = false } = {}) => {
  const answer = toNodeListener(dashboard);
  const asked: string[] = [];
  const streams = new Set<string>();
  const listener: RequestListener = (message, response) => {
    const { url = "" } = message;
    if (url.includes("/api/v1/")) asked.push(url);
    if (url.includes("/events")) {
      if (refuseStreams) return void response.writeHead(503).end();
      streams.add(url);
      response.once("close", () => streams.delete(url));
    }
    void answer(message, response);
  };
  return { listener, asked, streams };
};

const runnable = (page: Page) => page.locator(".figure", { hasText: "Runnable now" }).locator(".value");

const goTo = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name }).click();

const hide = (page: Page, state: "hidden" | "visible") =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);

it("hears of changes in one stream, which a hidden or paused page does without", async () => {
  const shop = await openShop(["read"]);
  const { listener, asked, streams } = observe(shop);
  const { origin, close } = await listen(listener);
  const { page, complaints } = await watchPage(browser);
  await page.goto(origin);
  await expect.poll(() => runnable(page).textContent()).toBe("0");
  await shop.leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  await expect.poll(() => runnable(page).textContent(), { timeout: 5_000 }).toBe("1");
  expect([...streams]).toEqual(["/api/v1/events?topic=backlog&topic=processes&topic=summary"]);
  expect(asked.filter((url) => /backlog|summary/.test(url) && !url.includes("events"))).toEqual([]);

  await goTo(page, "Workers");
  await expect.poll(() => [...streams]).toEqual(["/api/v1/events?topic=backlog&topic=processes"]);
  await page.getByText("1 process alive").waitFor();
  await page.goBack();
  await expect.poll(() => runnable(page).textContent()).toBe("1");

  await hide(page, "hidden");
  await expect.poll(() => streams.size).toBe(0);
  await shop.leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  await hide(page, "visible");
  await expect.poll(() => runnable(page).textContent()).toBe("2");

  await page.keyboard.press(".");
  await page.getByRole("button", { name: "Paused" }).waitFor();
  await expect.poll(() => streams.size).toBe(0);
  await shop.leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  // What is opened while paused is asked for once, and leaves the rest as it is.
  await goTo(page, "Workers");
  await page.getByText("1 process alive").waitFor();
  await goTo(page, "Overview");
  expect(await runnable(page).textContent()).toBe("2");
  expect(streams.size).toBe(0);
  await page.keyboard.press(".");
  await expect.poll(() => runnable(page).textContent()).toBe("3");
  expect(complaints).toEqual([]);
  await page.context().close();
  await close();
  await shop.dashboard.close();
}, 30_000);

it("asks every five seconds where there is no stream", async () => {
  const shop = await openShop(["read"]);
  const { listener, asked } = observe(shop, { refuseStreams: true });
  const { origin, close } = await listen(listener);
  const { page } = await watchPage(browser);
  await page.goto(origin);
  await expect.poll(() => runnable(page).textContent()).toBe("0");
  await shop.leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  await expect.poll(() => runnable(page).textContent(), { timeout: 8_000 }).toBe("1");
  expect(asked.filter((url) => url.endsWith("/backlog"))).toHaveLength(2);
  expect(asked.filter((url) => url.includes("/events"))).toHaveLength(1);
  await page.context().close();
  await close();
  await shop.dashboard.close();
}, 30_000);

const listenOn = async (port: number, listener: RequestListener): Promise<Server> => {
  const server = createServer(listener).listen(port, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
};

const stop = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
};

it("shows that the server is gone, and resumes within five seconds after it is back", async () => {
  const shop = await openShop(["read"]);
  const { listener, streams } = observe(shop);
  const server = await listenOn(0, listener);
  const { port } = server.address() as AddressInfo;
  const { page } = await watchPage(browser);
  await page.goto(`http://127.0.0.1:${port}`);
  await expect.poll(() => runnable(page).textContent()).toBe("0");
  await stop(server);
  await page.getByText("The server cannot be reached.").waitFor();
  // What was known stays.
  expect(await runnable(page).textContent()).toBe("0");
  await shop.leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  const again = await listenOn(port, listener);
  await expect.poll(() => runnable(page).textContent(), { timeout: 5_000 }).toBe("1");
  await expect.poll(() => page.getByText("The server cannot be reached.").count()).toBe(0);
  expect(streams.size).toBe(1);
  await page.context().close();
  await stop(again);
  await shop.dashboard.close();
}, 30_000);
