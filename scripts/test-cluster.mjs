// Lets servers fail over: a PostgreSQL cluster (which takes the options), then a NATS cluster and a Redis with sentinels.
//
//   npm run test:cluster -- [--mode synchronous|asynchronous|both] [--faults 20] [--seed 1] …
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const run = async (script, args) => {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  const [code] = await once(child, "exit");
  process.off("SIGINT", forward).off("SIGTERM", forward);
  return code === 0;
};

const results = [
  await run("../packages/postgres/scripts/test-cluster.mjs", process.argv.slice(2)),
  await run("broker-failover.mjs", []),
];
process.exitCode = results.every(Boolean) ? 0 : 1;
