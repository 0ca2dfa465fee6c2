// Copies of the built package with a bug in them.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../../packages/core/dist", import.meta.url));

const occurrences = (text, part) => text.split(part).length - 1;

/** What is wrong with the patches of a bug; empty when all of them apply. */
export const findMisfits = ({ name, patches }) =>
  patches.flatMap(({ file, find }) => {
    const count = occurrences(readFileSync(join(dist, file), "utf8"), find);
    return count === 1 ? [] : [`"${name}": ${file} has ${count} places with \`${find}\`, not 1`];
  });

/** The folder of a copy with the bug in it, and a function that removes it. */
export const createVariant = ({ patches }) => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-planted-bug-"));
  cpSync(dist, folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  for (const { file, find, replace } of patches) {
    const path = join(folder, file);
    writeFileSync(
      path,
      readFileSync(path, "utf8").replace(find, () => replace),
    );
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
