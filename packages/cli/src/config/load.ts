import { existsSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ownFrames } from "../output/errors.ts";
import { CliError } from "../output/exit-codes.ts";
import type { LeaseholdConfig } from "./config.ts";

const isTypeScript = (path: string): boolean => /\.[cm]?tsx?$/.test(path);

const others = [".ts", ".mts", ".js", ".mjs", ".cjs"];

/** The same file by another ending, which is what a missing one is mistaken for most often. */
const similar = (path: string): string | undefined => {
  const stem = path.slice(0, path.length - extname(path).length);
  return others.map((ending) => `${stem}${ending}`).find((name) => name !== path && existsSync(name));
};

const moduleErrors = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT"]);

const isMissingModule = (error: unknown): error is Error =>
  error instanceof Error && moduleErrors.has(String((error as { readonly code?: unknown }).code));

const missingPattern = /Cannot find (?:module|package) '([^']+)'/;

const importerPattern = /(?:imported from |Require stack:\n- )(?:file:\/\/)?([^\n]+)/;

const describeMissing = (error: Error, path: string): { readonly message: string; readonly hint: string } => {
  const [, name = "a module"] = missingPattern.exec(error.message) ?? [];
  const [, importer = path] = importerPattern.exec(error.message) ?? [];
  const isFile = /^[./]/.test(name);
  const near = isFile ? similar(resolve(dirname(importer), name)) : undefined;
  return {
    message: `${importer} imports ${name}, which is not there.`,
    hint: isFile
      ? near === undefined
        ? "Check the path in the import."
        : `There is ${near}: import that.`
      : `Install it: \`npm install ${name}\`.`,
  };
};

/** An error of a module of the user's, with the place it was thrown. `what` names the module and what it did. */
export const moduleError = (what: string, cause: unknown): CliError => {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const frames = cause instanceof Error ? ownFrames(cause.stack ?? "") : [];
  return new CliError(
    "ModuleNotLoaded",
    `${what}: ${text}${frames.map((line) => `\n      ${line}`).join("")}`,
    {
      cause,
      hint: "LEASEHOLD_DEBUG=1 shows the whole stack, and what caused it.",
    },
  );
};

/** Imports a module of the user's, TypeScript included. `what` names it in errors. */
export const loadModule = async (path: string, what: string): Promise<Record<string, unknown>> => {
  if (!existsSync(path)) {
    const near = similar(path);
    throw new CliError("ModuleNotFound", `${what} ${path} is not there.`, {
      hint: near === undefined ? "Check the path." : `Did you mean ${near}?`,
    });
  }
  try {
    if (!isTypeScript(path)) return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    const { createJiti } = await import("jiti");
    return await createJiti(import.meta.url).import(path);
  } catch (cause) {
    if (!isMissingModule(cause)) throw moduleError(`${what} ${path} cannot be loaded`, cause);
    const { message, hint } = describeMissing(cause, path);
    throw new CliError("ModuleNotLoaded", `${what} cannot be loaded: ${message}`, { cause, hint });
  }
};

const names = ["leasehold.config.ts", "leasehold.config.mts", "leasehold.config.js", "leasehold.config.mjs"];

export interface FoundConfig {
  readonly config: LeaseholdConfig;
  readonly path: string;
  readonly folder: string;
}

const knownKeys: Readonly<Record<keyof LeaseholdConfig, readonly string[]>> = {
  store: ["string", "function"],
  stores: ["object"],
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
  for (const [name, named] of Object.entries((config as LeaseholdConfig).stores ?? {})) {
    if (!/^[\w-]+$/.test(name)) return refuse(`"${name}" is not a name of letters, digits, - and _`);
    if (!["string", "function"].includes(typeof (named as { store?: unknown } | null)?.store))
      return refuse(`"stores.${name}.store" must be a string or a function`);
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
