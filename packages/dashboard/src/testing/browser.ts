import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { findDebianProgram } from "@leasehold/test-servers";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { Dashboard } from "../create-dashboard.ts";
import { toNodeListener } from "../node-listener.ts";

/** For what opens a browser: on a new machine that includes the installation. */
export const installTimeoutMs = 600_000;

/** Debian's Chromium, without background requests. */
export const openBrowser = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: await findDebianProgram("/usr/bin/chromium", "chromium"),
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** On a free port of this machine. */
export const listen = async (
  listener: RequestListener,
): Promise<{ readonly origin: string; close(): Promise<void> }> => {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export const serve = (dashboard: Dashboard) => {
  const answer = toNodeListener(dashboard);
  return listen((message, response) => void answer(message, response));
};

export interface WatchedPage {
  readonly page: Page;
  /** Everything that must not happen: errors, what the browser refused, dialogs. */
  readonly complaints: readonly string[];
}

/** A page that notes whatever goes wrong on it. */
export const watchPage = async (
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> => {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    // The browser writes down every 400 and 404. A value that is refused, and a job that is gone, are answers like others.
    const isAnswer = message.location().url.includes("/api/v1/") && /\b40[04]\b/.test(message.text());
    if (!isAnswer) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction("complain", (text: string) => complaints.push(text));
  await page.addInitScript({
    content: `document.addEventListener("securitypolicyviolation", (event) =>
      complain("refused: " + event.violatedDirective + " " + event.sourceFile));`,
  });
  return { page, complaints };
};

/** What axe-core finds wrong, as text; empty if nothing. By all of its rules, or by some. */
export const findBarriers = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe.source);
  return page.evaluate<
    string[]
  >(`axe.run(${JSON.stringify(rules === undefined ? {} : { runOnly: rules })}).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " + failureSummary)))`);
};
