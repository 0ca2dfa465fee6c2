// Kills worker and producer processes at random moments, and checks each time that the file opens and that everything
// acknowledged is still there.
//
//   npm run build && node packages/sqlite/scripts/kill-test.mjs [kills, default 50] [jobs per kill, default 5000] [driver]
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const [kills = "50", jobs = "5000", driver = "libsql"] = process.argv.slice(2);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--project", "sqlite", "packages/sqlite/src/kill.test.ts"],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      LEASEHOLD_SQLITE_KILLS: kills,
      LEASEHOLD_SQLITE_KILL_JOBS: jobs,
      LEASEHOLD_SQLITE_DRIVER: driver,
    },
  },
);
process.exitCode = status ?? 1;
