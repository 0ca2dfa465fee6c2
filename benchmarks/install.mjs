// Installs the systems under test if that has not been done since package-lock.json changed. They are no part of the
// repository's own dependencies, so that a normal install stays small.
import { spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const changedAt = (name) =>
  stat(new URL(name, import.meta.url)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

// npm writes this file last, when everything else is in place.
if ((await changedAt("node_modules/.package-lock.json")) <= (await changedAt("package-lock.json"))) {
  console.log("Installing the systems to compare with …");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
