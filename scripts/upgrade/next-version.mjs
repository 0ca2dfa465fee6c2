import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this version. */
export const ownRoot = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const packages = ["core", "test-servers", "postgres", "sqlite"];

/** Dependencies are the installed ones; the packages of the workspace are those of the folder. */
const linkModules = async (root) => {
  const modules = join(root, "node_modules");
  await mkdir(join(modules, "@leasehold"), { recursive: true });
  const own = join(ownRoot, "node_modules");
  for (const name of await readdir(own)) {
    if (name !== "leasehold" && name !== "@leasehold" && !name.startsWith("."))
      await symlink(join(own, name), join(modules, name));
  }
  await symlink(join(root, "packages/core"), join(modules, "leasehold"));
  for (const name of packages.slice(1))
    await symlink(join(root, "packages", name), join(modules, "@leasehold", name));
};

const migrationList = /\bconst migrations = \[([^;]*?),?\s*\];/;

/** Appends the migrations of the next version to the list of a built package. */
const addMigrations = async (root, kind) => {
  const folder = join(root, "packages", kind, "dist/migrations");
  await cp(fileURLToPath(new URL("next-migrations.mjs", import.meta.url)), join(folder, "next.mjs"));
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const text = name.endsWith(".js") ? await readFile(path, "utf8") : "";
    if (!migrationList.test(text)) continue;
    const extended = text.replace(migrationList, `const migrations = [$1, ...nextMigrations.${kind}];`);
    await writeFile(path, `import { nextMigrations } from "./next.mjs";\n${extended}`);
    return;
  }
  throw new Error(`No file of ${folder} has a list of migrations.`);
};

/**
 * Copies the build of this version and adds the migrations of `next-migrations.mjs`.
 *
 * @returns {Promise<{ root: string, remove(): Promise<void> }>}
 */
export const buildNext = async (kind) => {
  const root = await mkdtemp(join(tmpdir(), "leasehold-next-"));
  await cp(join(ownRoot, "package.json"), join(root, "package.json"));
  for (const name of packages)
    for (const part of ["package.json", "dist"])
      await cp(join(ownRoot, "packages", name, part), join(root, "packages", name, part), {
        recursive: true,
      });
  await linkModules(root);
  await addMigrations(root, kind);
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
};
