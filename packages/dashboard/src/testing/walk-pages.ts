import type { Page } from "playwright-core";
import { expect } from "vitest";

/** A page by what its address looks like: `/jobs/*` stands for the page of any job, `/queues?name` for that of any queue. */
const shapeOf = ({ pathname, searchParams }: URL): string =>
  pathname.replace(/^(\/[^/]+)\/.+$/, "$1/*") + (searchParams.has("name") ? "?name" : "");

/** Every page that there is to link to. One that is added belongs here, too. */
export const pageShapes = [
  "/",
  "/actions",
  "/compare",
  "/doctor",
  "/failed",
  "/jobs",
  "/jobs/*",
  "/limits",
  "/queues",
  "/queues?name",
  "/recurring",
  "/trees/*",
  "/workers",
];

export const waitForPage = async (page: Page): Promise<void> => {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByLabel("Loading").waitFor({ state: "detached" });
};

/**
 * Opens one page of each shape, as a person does who follows the links. `look` gets each of them with nothing more to load.
 * Returns the shapes that it found.
 */
export const walkPages = async (
  page: Page,
  origin: string,
  look: (shape: string) => Promise<void>,
): Promise<string[]> => {
  const found = new Map([["/", "/"]]);
  for (const [shape, path] of found) {
    const response = await page.goto(origin + path);
    expect(response?.status(), path).toBe(200);
    await waitForPage(page);
    const links = await page.evaluate<string[]>(
      "[...document.links].map((link) => link.getAttribute('href'))",
    );
    for (const link of links) {
      const url = new URL(link, origin);
      const shapeOfLink = shapeOf(url);
      const address = shapeOfLink.includes("?") ? url.pathname + url.search : url.pathname;
      if (url.origin === origin && !found.has(shapeOfLink)) found.set(shapeOfLink, address);
    }
    await look(shape);
  }
  return [...found.keys()].sort();
};
