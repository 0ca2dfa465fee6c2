import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const folder = new URL("../../dist/client/", import.meta.url);

/** How much goes over the network, by name. */
const measure = (): Map<string, number> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => [entry.name, gzipSync(readFileSync(`${entry.parentPath}/${entry.name}`)).byteLength]),
  );

const sum = (sizes: Iterable<number>): number => [...sizes].reduce((total, size) => total + size, 0);

it("stays small: 60 kB for the first page, 100 kB for everything", () => {
  const sizes = measure();
  const first = readFileSync(new URL("index.html", folder), "utf8");
  const named = [...sizes].filter(([name]) => name === "index.html" || first.includes(`/${name}"`));
  expect(named.length).toBeGreaterThanOrEqual(3);
  expect(sum(named.map(([, size]) => size))).toBeLessThan(60_000);
  expect(sum(sizes.values())).toBeLessThan(100_000);
});

it("contains no source map, and nothing in line that the browser would refuse", () => {
  expect([...measure().keys()].filter((name) => name.endsWith(".map"))).toEqual([]);
  const page = readFileSync(new URL("index.html", folder), "utf8");
  expect(page).not.toMatch(/<style|style=|<base|<script(?![^>]*\bsrc=)|\bon\w+=|https?:\/\/(?!www\.w3\.org)/);
});
