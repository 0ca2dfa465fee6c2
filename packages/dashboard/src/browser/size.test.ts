import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { files } from "../../dist/page.js";

/** How much goes over the network, by name. */
const sizes = new Map(
  Object.entries(files).map(([name, content]) => [name, gzipSync(content).byteLength] as const),
);

const page = files["index.html"]!;

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, size) => total + size, 0);

it("stays small: 60 kB for the first page, 100 kB for everything", () => {
  const named = [...sizes].filter(([name]) => name === "index.html" || page.includes(`/${name}"`));
  expect(named.length).toBeGreaterThanOrEqual(3);
  expect(sum(named.map(([, size]) => size))).toBeLessThan(60_000);
  expect(sum(sizes.values())).toBeLessThan(100_000);
});

it("contains no source map, and nothing in line that the browser would refuse", () => {
  expect([...sizes.keys()].filter((name) => name.endsWith(".map"))).toEqual([]);
  expect(page).not.toMatch(/<style|style=|<base|<script(?![^>]*\bsrc=)|\bon\w+=|https?:\/\/(?!www\.w3\.org)/);
});
