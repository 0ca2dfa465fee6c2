// Installs what a package outside the workspace needs, if that has not been done since its package-lock.json changed:
// `node scripts/install.mjs benchmarks`. These packages are apart so that a normal install stays small.
import { spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "..", process.argv[2]);

const changedAt = (name) =>
  stat(join(folder, name)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

// npm writes this file last, when everything else is in place.
if ((await changedAt("node_modules/.package-lock.json")) <= (await changedAt("package-lock.json"))) {
  console.log(`Installing the packages of ${process.argv[2]} …`);
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: "inherit" });
  process.exitCode = status ?? 1;
}
