// Lets a cluster of three PostgreSQL nodes under Patroni fail over, again and again, while processes start and run jobs. Checks
// that nothing acknowledged is lost or done twice (synchronous mode), or that what PostgreSQL kept is consistent
// (asynchronous mode), and measures how soon work goes on.
//
//   npm run test:cluster -- [--mode synchronous|asynchronous|both] [--faults 20] [--seed 1] [--rate 50]
//     [--only kill,split] [--workers pg-haproxy,postgres-hosts] [--json]
//
// Needs etcd, Patroni, HAProxy, PgBouncer and PostgreSQL 15 of Debian; as root it installs them. Exits with 1 when something is
// wrong. The same seed chooses the same faults in the same order.
import { parseArgs } from "node:util";
import { runStory } from "./cluster/story.mjs";
import { printReport } from "./cluster/report.mjs";

const { values: options } = parseArgs({
  options: {
    mode: { type: "string", default: "both" },
    faults: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    rate: { type: "string", default: "50" },
    only: { type: "string" },
    workers: {
      type: "string",
      default: "pg-haproxy,pg-pgbouncer,pg-hosts,postgres-haproxy,postgres-pgbouncer,postgres-hosts",
    },
    json: { type: "boolean", default: false },
  },
});

// Whatever ends this process ends the servers and processes that it started.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const modes = options.mode === "both" ? ["synchronous", "asynchronous"] : [options.mode];
let isGood = true;
for (const mode of modes) {
  const report = await runStory({
    isSynchronous: mode === "synchronous",
    count: Number(options.faults),
    seed: Number(options.seed),
    jobsPerSecond: Number(options.rate),
    only: options.only?.split(","),
    workers: options.workers.split(","),
    print: (line) => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : printReport(report));
  isGood &&= report.problems.length === 0;
}
process.exit(isGood ? 0 : 1);
