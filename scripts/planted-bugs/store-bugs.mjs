// The bugs of each store, of recurring jobs, of the history and of the dashboard, and the tests that are to notice them: the conformance kit first, then the
// store's own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dashboardBugs } from "./dashboard.mjs";
import { engineBugs } from "./engine.mjs";
import { historyBugs } from "./history.mjs";
import { jobBugs } from "./jobs.mjs";
import { mongodbBugs } from "./mongodb.mjs";
import { postgresHistoryBugs } from "./postgres-history.mjs";
import { postgresBugs } from "./postgres.mjs";
import { recurringBugs } from "./recurring.mjs";
import { ruleBugs } from "./rules.mjs";
import { sqliteBugs } from "./sqlite.mjs";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** In place of the number of a bug: the tests as they are. */
export const noBug = -1;

export const stores = {
  dashboard: {
    bugs: dashboardBugs,
    tests: [
      "packages/dashboard/src/actions/run.test.ts",
      "packages/dashboard/src/routes/jobs.test.ts",
      "packages/dashboard/src/routes/redaction.test.ts",
      "packages/dashboard/src/routes/corpus.test.ts",
      "packages/dashboard/src/routes/tree.test.ts",
      "packages/dashboard/src/actions/action.test.ts",
      "packages/dashboard/src/http/attacks.test.ts",
      "packages/dashboard/src/http/compress.test.ts",
      "packages/dashboard/src/standalone/sign-in.test.ts",
    ],
    only: "",
  },
  history: {
    bugs: historyBugs,
    tests: ["packages/core/src/memory/state-adapter.test.ts", "packages/core/src/memory/model.test.ts"],
    only: "history|reads|model runs",
  },
  mongodb: {
    bugs: mongodbBugs,
    tests: [
      "packages/mongodb/src/state-adapter.test.ts",
      "packages/mongodb/src/jobs/held-jobs.test.ts",
      "packages/mongodb/src/options.test.ts",
      "packages/mongodb/src/jobs/commit.test.ts",
      "packages/mongodb/src/model.test.ts",
    ],
    only: "",
  },
  postgres: {
    bugs: [...postgresBugs, ...postgresHistoryBugs],
    tests: [
      "packages/postgres/src/conformance-pg.test.ts",
      "packages/postgres/src/database/one-connection.test.ts",
      "packages/postgres/src/limits/races.test.ts",
      "packages/postgres/src/limits/rolled-back.test.ts",
      "packages/postgres/src/limits/edits.test.ts",
      "packages/postgres/src/jobs/create.test.ts",
      "packages/postgres/src/jobs/claim-cursors.test.ts",
      "packages/postgres/src/jobs/complete-last.test.ts",
      "packages/postgres/src/jobs/locked-rows.test.ts",
      "packages/postgres/src/jobs/start-job.test.ts",
      "packages/postgres/src/jobs/replacement-races.test.ts",
      "packages/postgres/src/load/contention.test.ts",
      "packages/postgres/src/history/keep-attempts.test.ts",
      "packages/postgres/src/history/report-races.test.ts",
    ],
    // One server and one provider will do.
    only: "PostgreSQL 18|^(?!PostgreSQL)",
  },
  recurring: {
    bugs: recurringBugs,
    tests: ["packages/core/src/recurring/*.test.ts"],
    only: "",
  },
  sqlite: {
    bugs: [...sqliteBugs, ...ruleBugs, ...engineBugs, ...jobBugs],
    tests: [
      "packages/sqlite/src/state-adapter.test.ts",
      "packages/sqlite/src/model.test.ts",
      "packages/sqlite/src/jobs/commit-outcomes.test.ts",
      "packages/sqlite/src/scenarios.test.ts",
      "packages/sqlite/src/nth-call.test.ts",
      "packages/sqlite/src/query-plans.test.ts",
      "packages/sqlite/src/limits/rule-rows.test.ts",
      "packages/sqlite/src/limits/idle-groups.test.ts",
      "packages/sqlite/src/limits/edits.test.ts",
      "packages/sqlite/src/database/lock-contention.test.ts",
      "packages/sqlite/src/flaky-store.test.ts",
      "packages/core/src/notify/awaited.test.ts",
      "packages/sqlite/src/rows/long-inputs.test.ts",
    ],
    only: "",
  },
};

/** What is wrong with the patches of a bug; empty when all of them apply. */
export const findStoreMisfits = ({ name, patches }) =>
  patches.flatMap(({ file, find }) => {
    const count = readFileSync(join(root, file), "utf8").split(find).length - 1;
    return count === 1 ? [] : [`"${name}": ${file} has ${count} places with \`${find}\`, not 1`];
  });
