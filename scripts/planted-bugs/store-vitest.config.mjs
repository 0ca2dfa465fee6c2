// Runs the tests of a store with a bug in it: the patches are applied as the source is read, so nothing is copied.
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { noBug, root, stores } from "./store-bugs.mjs";

const { store, bug, include, exclude = [] } = JSON.parse(process.env.LEASEHOLD_PLANTED_BUG);
const { bugs, tests } = stores[store];
const patches = bug === noBug ? [] : bugs[bug].patches;

const plant = {
  name: "plant-a-bug",
  enforce: "pre",
  transform: (code, id) => {
    const own = patches.filter(({ file }) => join(root, file) === id.split("?")[0]);
    if (own.length === 0) return undefined;
    return own.reduce((changed, { find, replace }) => changed.replace(find, () => replace), code);
  },
};

export default defineConfig({
  root,
  plugins: [plant],
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: {
    // Longer than usual: two of these run at a time.
    testTimeout: 60_000,
    bail: 1,
    maxWorkers: 1,
    include: include ?? tests,
    exclude,
    globalSetup: store === "postgres" ? [join(root, "scripts/planted-bugs/given-servers.mjs")] : [],
  },
});
