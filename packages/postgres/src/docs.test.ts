import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

const read = (path: string): string => readFileSync(join(root, path), "utf8");

const dedent = (lines: readonly string[]): string => {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  return lines.map((line) => line.slice(Math.min(...indents))).join("\n");
};

/** The lines between `// #region name` and the next `// #endregion`. Several regions of one name are joined. */
const readRegion = (file: string, region: string): string => {
  const lines = read(file).split("\n");
  const pieces = lines.flatMap((line, start) => {
    if (line.trim() !== `// #region ${region}`) return [];
    const end = lines.findIndex((candidate, index) => index > start && candidate.trim() === "// #endregion");
    return [dedent(lines.slice(start + 1, end)).trim()];
  });
  return pieces.join("\n\n");
};

const snippet = /<!-- code of (\S+)#([a-z-]+) -->\n+```ts\n([\s\S]*?)\n```/g;

describe.each([
  "docs/postgres.md",
  "docs/high-availability.md",
  "benchmarks/scale/README.md",
  "docs/testing.md",
])("%s", (page) => {
  it("shows the code that runs", () => {
    const text = read(page);
    const snippets = [...text.matchAll(snippet)];
    expect(snippets).toHaveLength([...text.matchAll(/<!-- code of /g)].length);
    expect(snippets).not.toEqual([]);
    for (const [, file, region, code] of snippets)
      expect(code, `${file}#${region}`).toBe(readRegion(file!, region!));
  });
});
