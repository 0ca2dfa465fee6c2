import { pathToFileURL } from "node:url";
import { CliError } from "../cli-error.ts";

/** Imports a module of the user's, TypeScript included. `what` names it in errors. */
export const loadModule = async (path: string, what: string): Promise<Record<string, unknown>> => {
  try {
    if (!/\.[cm]?tsx?$/.test(path))
      return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    const { createJiti } = await import("jiti");
    return await createJiti(import.meta.url).import(path);
  } catch (cause) {
    throw new CliError("ModuleNotLoaded", `${what} ${path} cannot be loaded: ${messageOf(cause)}`, {
      cause,
      hint: "Run it with node by itself to see the whole error.",
    });
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
