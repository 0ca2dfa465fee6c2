// Copies the regions of examples into the pages that show them: `npm run sync-snippets`. The tests compare both.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const dedent = (lines) => {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  return lines.map((line) => line.slice(Math.min(...indents))).join("\n");
};

const readRegion = (file, region) => {
  const lines = readFileSync(file, "utf8").split("\n");
  const pieces = lines.flatMap((line, start) => {
    if (line.trim() !== `// #region ${region}`) return [];
    const end = lines.findIndex((candidate, index) => index > start && candidate.trim() === "// #endregion");
    return [dedent(lines.slice(start + 1, end)).trim()];
  });
  return pieces.join("\n\n");
};

const snippet = /(<!-- (?:from|code of|snippet) (\S+?\.ts)(?:#([a-z-]+))? -->\n+```ts\n)([\s\S]*?)(\n```)/g;

const pages = execFileSync("git", ["ls-files", "*.md"], { encoding: "utf8" }).trim().split("\n");
for (const page of pages) {
  const text = readFileSync(page, "utf8");
  const synced = text.replace(snippet, (_all, head, file, region = "readme", _code, tail) => {
    const code = readRegion(file, region);
    if (code === "") throw new Error(`${page}: ${file} has no region ${region}.`);
    return head + code + tail;
  });
  if (synced === text) continue;
  writeFileSync(page, synced);
  console.log(`updated ${page}`);
}
