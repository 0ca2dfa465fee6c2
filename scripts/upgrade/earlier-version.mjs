import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Where this version is. */
export const ownRoot = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const git = async (...args) => {
  const { stdout } = await execute("git", args, { cwd: ownRoot, maxBuffer: 2 ** 28, encoding: "buffer" });
  return stdout;
};

/** The last commit without the migration of a store that was added last. */
export const commitBeforeNewestMigration = async (kind) => {
  const folder = `packages/${kind}/src/migrations`;
  const files = (await readdir(join(ownRoot, folder))).filter((name) => /^\d{4}-/.test(name)).sort();
  const path = `${folder}/${files.at(-1)}`;
  const added = String(await git("log", "--diff-filter=A", "--format=%H", "--", path))
    .trim()
    .split("\n")
    .at(-1);
  if (!added) throw new Error(`git does not know when ${path} was added: the whole history is needed here.`);
  return String(await git("rev-parse", `${added}^`)).trim();
};

/** Dependencies are those that are installed here; the packages of the workspace are the earlier ones. */
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

const packages = ["core", "test-servers", "postgres", "sqlite"];

const buildIn = async (root, commit) => {
  const archive = join(root, "earlier.tar");
  const paths = [...packages.map((name) => `packages/${name}`), "tsconfig.base.json", "package.json"];
  await writeFile(archive, await git("archive", commit, ...paths));
  await execute("tar", ["-xf", archive, "-C", root]);
  await linkModules(root);
  const compiler = join(ownRoot, "node_modules/typescript/bin/tsc");
  for (const name of packages)
    await execute(process.execPath, [compiler, "-b", `packages/${name}`], { cwd: root });
};

const mostSteps = 10;

/**
 * Builds this commit, or the last one before it that can be built: some are one part of a change.
 *
 * @returns {Promise<{ commit: string, root: string, remove(): Promise<void> }>}
 */
export const buildEarlier = async (commit, steps = mostSteps) => {
  const root = await mkdtemp(join(tmpdir(), "leasehold-earlier-"));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    await buildIn(root, commit);
    return { commit: String(await git("rev-parse", commit)).trim(), root, remove };
  } catch (error) {
    await remove();
    if (steps === 0) throw error;
    return buildEarlier(`${commit}^`, steps - 1);
  }
};
