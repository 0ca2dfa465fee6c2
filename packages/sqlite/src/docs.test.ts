import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = new URL("../../../", import.meta.url);

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, root)), "utf8");

const dedent = (lines: readonly string[]): string[] => {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  return lines.map((line) => line.slice(Math.min(...indents)));
};

/** The lines between `// #region name` and the next `// #endregion`; several of one name are joined. */
const readRegion = (file: string, region: string): string => {
  const lines = read(file).split("\n");
  const pieces = lines.flatMap((line, start) => {
    if (line.trim() !== `// #region ${region}`) return [];
    const end = lines.findIndex((other, index) => index > start && other.trim() === "// #endregion");
    return [
      dedent(lines.slice(start + 1, end))
        .join("\n")
        .trim(),
    ];
  });
  return pieces.join("\n\n");
};

const snippet = /<!-- code of (\S+)#([a-z-]+) -->\n+```ts\n([\s\S]*?)\n```/g;

describe.each(["docs/sqlite.md", "packages/sqlite/README.md"])("%s", (page) => {
  it("shows the code that runs", () => {
    const text = read(page);
    const snippets = [...text.matchAll(snippet)];
    expect(snippets.length).toBe([...text.matchAll(/```ts\n/g)].length);
    expect(snippets.length).toBeGreaterThan(0);
    for (const [, file, region, code] of snippets)
      expect(code, `${file}#${region}`).toBe(readRegion(file!, region!));
  });
});
