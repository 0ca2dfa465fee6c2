import { existsSync } from "node:fs";
import { dirname, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CliError } from "../cli-error.ts";
import { ownFrames } from "../output/frames.ts";

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
