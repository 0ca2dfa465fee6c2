import { defineConfig } from "vite";

export default defineConfig({
  // The server puts the real path in its place when it reads index.html; see src/http/assets.ts.
  base: "/__leasehold_base__/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/client",
    emptyOutDir: true,
    target: "es2022",
    // Chunks are found relative to each other, so only index.html contains the path of the page.
    modulePreload: false,
    cssCodeSplit: false,
    sourcemap: false,
    assetsInlineLimit: 0,
  },
});
