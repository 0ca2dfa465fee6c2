import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

const outDir = "../dist/client";

/**
 * Writes the files of the page as a module, `dist/page.js`. The server imports it like any other one, so that a bundler takes the
 * page along; a path to files would be lost in a bundle.
 */
const pageAsModule = (): Plugin => ({
  name: "page-as-module",
  writeBundle: (_options, bundle) => {
    const files = Object.fromEntries(
      Object.values(bundle).map((file) => [
        file.fileName,
        file.type === "chunk" ? file.code : Buffer.from(file.source).toString("utf8"),
      ]),
    );
    const page = resolve(import.meta.dirname, outDir, "../page");
    writeFileSync(`${page}.js`, `export const files = ${JSON.stringify(files)};\n`);
    writeFileSync(`${page}.d.ts`, "export declare const files: Readonly<Record<string, string>>;\n");
  },
});

export default defineConfig({
  // The server puts the real path in its place when it reads index.html; see src/http/assets.ts.
  base: "/__leasehold_base__/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [pageAsModule()],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // Chunks are found relative to each other, so only index.html contains the path of the page.
    modulePreload: false,
    cssCodeSplit: false,
    sourcemap: false,
    assetsInlineLimit: 0,
  },
});
