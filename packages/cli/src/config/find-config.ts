import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import type { LeaseholdConfig } from "./config.ts";
import { loadModule } from "./load-module.ts";

const names = ["leasehold.config.ts", "leasehold.config.mts", "leasehold.config.js", "leasehold.config.mjs"];

export interface FoundConfig {
  readonly config: LeaseholdConfig;
  readonly path: string;
  readonly folder: string;
}

const knownKeys: Readonly<Record<keyof LeaseholdConfig, readonly string[]>> = {
  store: ["string", "function"],
  schema: ["string"],
  tablePrefix: ["string"],
  channelPrefix: ["string"],
  jobTypes: ["object"],
  codec: ["object"],
  worker: ["string"],
};

const locate = (cwd: string, given: string | undefined): string | undefined => {
  const start = resolve(cwd, given ?? ".");
  if (given !== undefined && !existsSync(start)) {
    throw new CliError("ConfigNotFound", `There is no config module at ${start}.`, {
      hint: "Check --config; it takes a file, or a folder with leasehold.config.ts or .js in it.",
    });
  }
  if (!statSync(start).isDirectory()) return start;
  const found = names.map((name) => join(start, name)).find((path) => existsSync(path));
  if (found === undefined && given !== undefined) {
    throw new CliError("ConfigNotFound", `There is no leasehold.config.ts or .js in ${start}.`);
  }
  return found;
};

const check = (config: unknown, path: string): LeaseholdConfig => {
  const refuse = (problem: string): never => {
    throw new CliError("InvalidConfig", `${path}: ${problem}`, {
      hint: 'Write `export default defineConfig({ … })`, with defineConfig from "@leasehold/cli".',
    });
  };
  if (typeof config !== "object" || config === null) return refuse("the default export must be an object");
  for (const [key, value] of Object.entries(config)) {
    const kinds = knownKeys[key as keyof LeaseholdConfig];
    if (!Object.hasOwn(knownKeys, key)) {
      return refuse(`"${key}" is not a setting. There are ${Object.keys(knownKeys).join(", ")}.`);
    }
    if (value !== undefined && !kinds.includes(typeof value)) {
      return refuse(`"${key}" must be a ${kinds.join(" or a ")}`);
    }
  }
  return config;
};

/** The config module that `--config` names, or the one in the current folder; undefined when there is none. */
export const findConfig = async (
  cwd: string,
  given: string | undefined,
): Promise<FoundConfig | undefined> => {
  const path = locate(cwd, given);
  if (path === undefined) return undefined;
  const { default: exported } = await loadModule(path, "The config module");
  return { config: check(exported, path), path, folder: dirname(path) };
};
