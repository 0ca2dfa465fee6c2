import { defineConfig } from "vitest/config";

/** What takes too long for every run: every page and action on every store, all of the hostile text, a million jobs. */
export default defineConfig({
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: {
    root: import.meta.dirname,
    include: ["src/testing/trials/*.trial.ts"],
    testTimeout: 120_000,
    maxWorkers: 2,
  },
});
