// Runs tests of core against a copy of the built package with a bug in it: what a test imports comes from the copy.
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { defineConfig } from "vitest/config";
import { root } from "./store-bugs.mjs";

const { folder, include, exclude } = JSON.parse(process.env.LEASEHOLD_PLANTED_BUG);
const source = join(root, "packages/core/src");

const useVariant = {
  name: "use-a-copy-with-a-bug",
  enforce: "pre",
  resolveId: (id, importer) => {
    if (folder === null || !id.startsWith(".") || !importer?.startsWith(source)) return undefined;
    const path = relative(source, join(dirname(importer), id)).replace(/\.ts$/, ".js");
    const built = join(folder, path);
    return !path.startsWith("..") && existsSync(built) ? built : undefined;
  },
};

export default defineConfig({
  root,
  plugins: [useVariant],
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: { testTimeout: 60_000, bail: 1, maxWorkers: 1, isolate: false, include, exclude },
});
