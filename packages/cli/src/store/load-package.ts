import type * as Dashboard from "@leasehold/dashboard";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CliError, exitCodes } from "../output/exit-codes.ts";

export interface LoadPackageOptions<T> {
  readonly name: string;
  /** Imports it where it is installed next to this command. */
  readonly load: () => Promise<T>;
  /** What needs it, such as `MongoDB`. */
  readonly neededFor: string;
  /** What to install, with the package itself. */
  readonly install: string;
  /** The folder of the project that may have it, if this command is installed elsewhere. */
  readonly folder: string;
}

const isMissing = (error: unknown, name: string): boolean =>
  (error as { readonly code?: unknown }).code === "ERR_MODULE_NOT_FOUND" &&
  (error as Error).message.includes(`'${name}'`);

const findInProject = (name: string, folder: string): string | undefined => {
  try {
    return createRequire(join(folder, "package.json")).resolve(name);
  } catch {
    return undefined;
  }
};

/** Stores, drivers and the dashboard are installed by need. This loads one of them, or explains what to install. */
export const loadPackage = async <T>({
  name,
  load,
  neededFor,
  install,
  folder,
}: LoadPackageOptions<T>): Promise<T> => {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    const path = findInProject(name, folder);
    if (path !== undefined) return (await import(pathToFileURL(path).href)) as T;
    throw new CliError(
      "PackageMissing",
      `${neededFor} needs the package \`${name}\`, which is not installed here.`,
      {
        cause,
        exitCode: exitCodes.store,
        hint: `Run \`npm install ${install}\` in your project. Without a project: \`npx -p @leasehold/cli ${install.replaceAll(/\S+/g, "-p $&")} leasehold …\`.`,
      },
    );
  }
};

export const loadDashboard = (folder: string): Promise<typeof Dashboard> =>
  loadPackage({
    name: "@leasehold/dashboard",
    load: () => import("@leasehold/dashboard"),
    neededFor: "This command",
    install: "@leasehold/dashboard",
    folder,
  });
