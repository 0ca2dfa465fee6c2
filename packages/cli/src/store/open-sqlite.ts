import { existsSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { CliError, exitCodes } from "../output/exit-codes.ts";
import { loadPackage } from "./load-package.ts";
import { migrationsOf, type OpenAddressOptions, type StoreConnection } from "./store.ts";

const checkFile = (path: string, create: boolean): void => {
  if (!existsSync(dirname(path))) {
    throw new CliError("StoreNotFound", `There is no folder ${dirname(path)} for the database.`, {
      exitCode: exitCodes.store,
      hint: "Create the folder, or check the path after sqlite: for a mistake.",
    });
  }
  // Looking into a database must not make one: a mistyped path would give an empty one, and no error.
  if (!create && !existsSync(path)) {
    throw new CliError("StoreNotFound", `There is no database ${path}.`, {
      exitCode: exitCodes.store,
      hint: "Check the path, or create the database with `leasehold migrate`.",
    });
  }
};

/** As one would type it from here, where that is shorter. */
const nearName = (path: string): string => {
  const name = relative(process.cwd(), path);
  return name.startsWith("..") || isAbsolute(name) ? path : name;
};

export interface SqliteStoreOptions extends OpenAddressOptions {
  readonly file: string;
  readonly folder: string;
  readonly tablePrefix: string | undefined;
}

/** Opens a file as @leasehold/sqlite does, without touching its tables. */
export const openSqlite = async ({
  file,
  folder,
  tablePrefix,
  create,
  project,
}: SqliteStoreOptions): Promise<StoreConnection> => {
  const path = resolve(folder, file);
  checkFile(path, create);
  const { createSqliteStateAdapter } = await loadPackage({
    name: "@leasehold/sqlite",
    load: () => import("@leasehold/sqlite"),
    neededFor: "SQLite",
    install: "@leasehold/sqlite",
    folder: project,
  });
  const stateAdapter = await createSqliteStateAdapter({ file: path, tablePrefix, migrate: false });
  return {
    label: `sqlite:${nearName(path)}`,
    stateAdapter,
    // SQLite cannot notify other processes: their workers find jobs by polling.
    notifyAdapter: undefined,
    migrations: migrationsOf(stateAdapter),
    close: () => stateAdapter.close(),
  };
};
