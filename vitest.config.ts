import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "examples/**/*.test.ts"],
    testTimeout: 20_000,
  },
});
