// Puts the pages of docs/ into the package `leasehold`, for people and assistants who work without the site. npm runs this before
// it packs the package.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readPages } from "../pages.mjs";

const folder = resolve(import.meta.dirname, "../../packages/core/docs");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of readPages()) writeFileSync(join(folder, name), text);
