import { defineConfig } from "vitest/config";

/** Takes the pictures in docs/images. */
export default defineConfig({
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  test: { root: import.meta.dirname, include: ["src/testing/pictures/take-pictures.ts"] },
});
