import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packAll, publishedPackages, startRegistry } from "./registry.ts";
import { runWell } from "./run.ts";

export interface FreshProject {
  /** A project outside this repository that has every published package installed. */
  readonly folder: string;
  /** The packed packages, by name. */
  readonly tarballs: ReadonlyMap<string, string>;
  /** Runs `npm install` with these arguments in another folder. */
  install(folder: string, packages: readonly string[]): Promise<void>;
  remove(): Promise<void>;
}

/** Every name that can be imported, such as `leasehold/testing`. */
export const entries: readonly string[] = publishedPackages.flatMap(({ name, exports = {} }) =>
  Object.keys(exports).map((path) => `${name}${path.slice(1)}`),
);

export const createFreshProject = async (): Promise<FreshProject> => {
  const scratch = mkdtempSync(join(tmpdir(), "leasehold-packages-"));
  const tarballs = await packAll(scratch);
  const registry = await startRegistry(tarballs, join(scratch, "registry"));
  const install = async (folder: string, packages: readonly string[]): Promise<void> => {
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const cache = join(scratch, "cache");
    const from = ["--registry", registry.url, "--cache", cache];
    await runWell("npm", ["install", ...from, ...options, ...packages], folder);
  };

  const folder = join(scratch, "project");
  mkdirSync(folder);
  const dependencies = {
    ...Object.fromEntries(publishedPackages.map(({ name, version }) => [name, `^${version}`])),
    "@opentelemetry/api": "^1.9.0",
    "@types/node": "^20.19.0",
    kysely: "*", // imported by the provider for it
    mongodb: "*", // named by the types of its adapter
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", dependencies }));
  for (const extension of ["ts", "mts", "cts"]) {
    copyFileSync(join(import.meta.dirname, "apps/order.ts"), join(folder, `order.${extension}`));
  }
  copyFileSync(join(import.meta.dirname, "apps/load-entries.mjs"), join(folder, "load-entries.mjs"));
  await install(folder, []);
  return {
    folder,
    tarballs,
    install,
    remove: async () => {
      await registry.close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
};
