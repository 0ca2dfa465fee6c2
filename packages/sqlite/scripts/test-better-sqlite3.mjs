// Runs this package's tests with better-sqlite3. It is not among the packages of the workspace, because installing it can
// mean compiling it; here it is installed into a temporary folder.
//
//   npm run build && node packages/sqlite/scripts/test-better-sqlite3.mjs [test files]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const version = "12.11.1";
const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "leasehold-better-sqlite3-"));
const entry = join(folder, "node_modules", "better-sqlite3", "lib", "index.js");

const run = (command, args, options) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", ...options });
  if (status !== 0) throw new Error(`${command} ended with ${status}.`);
};

// Tests find the driver by an alias of vitest, and the processes that they start by a loader hook of Node.
const config = `export default {
  ssr: { resolve: { conditions: ["@leasehold/source"] } },
  resolve: { alias: { "better-sqlite3": ${JSON.stringify(entry)} } },
  test: { testTimeout: 60_000, include: ["packages/sqlite/src/**/*.test.ts"] },
};`;
const hooks = `export const resolve = (specifier, context, next) =>
  specifier === "better-sqlite3"
    ? { url: ${JSON.stringify(pathToFileURL(entry).href)}, shortCircuit: true }
    : next(specifier, context);`;
const register = `import { register } from "node:module"; register("./hooks.mjs", import.meta.url);`;

try {
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(folder, "vitest.config.mjs"), config);
  writeFileSync(join(folder, "hooks.mjs"), hooks);
  writeFileSync(join(folder, "register.mjs"), register);
  run("npm", ["install", "--no-audit", "--no-fund", `better-sqlite3@${version}`], { cwd: folder });

  const files = process.argv.slice(2);
  const args = ["run", "--root", root, "--config", join(folder, "vitest.config.mjs"), ...files];
  run(process.execPath, [join(root, "node_modules", "vitest", "vitest.mjs"), ...args], {
    cwd: root,
    env: {
      ...process.env,
      LEASEHOLD_SQLITE_DRIVER: "better-sqlite3",
      NODE_OPTIONS: `--import ${pathToFileURL(join(folder, "register.mjs")).href}`,
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
