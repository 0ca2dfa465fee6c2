// The conditions of a run, printed above its figures.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { promisify } from "node:util";
import { nodeProgram, postgresSettings, redisSettings } from "./settings.mjs";

const run = promisify(execFile);

const list = (settings) =>
  Object.entries(settings)
    .map(([name, value]) => `${name} ${value === "" ? '""' : value}`)
    .join(", ");

export const describeRun = async (servers, scale) => {
  const { dependencies } = JSON.parse(await readFile(new URL("package.json", import.meta.url), "utf8"));
  const { postgres, redis } = await servers.versions();
  const { stdout: node } = await run(nodeProgram, ["--version"]);
  const version = (name) => `${name} ${dependencies[name]}`;
  return [
    `${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, load ${loadavg()[0].toFixed(1)} before the run`,
    `Node.js ${node.trim()}; ${["bullmq", "pg-boss", "graphile-worker", "pg", "ioredis"].map(version).join(", ")}`,
    `PostgreSQL ${postgres}: fsync and synchronous_commit on; ${list(postgresSettings)}`,
    `Redis ${redis}: ${list(redisSettings)}`,
    `Workload: ${list(scale)}`,
    "",
  ].join("\n");
};
