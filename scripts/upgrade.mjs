// Workers and producers of this version and of the next one on the same store, while the migrations run under load.
//
//   npm run test:upgrade -- [--store postgres,sqlite] [--kept 200000] [--seconds 8]
//
// The next version is a copy of this one with the migrations of upgrade/next-migrations.mjs. No job may be lost or run twice, no
// statement may fail, and no statement may wait for a lock of a migration for more than 100 ms. Exits with 1 otherwise.
import { parseArgs } from "node:util";
import { judge } from "./upgrade/judge.mjs";
import { buildNext, ownRoot } from "./upgrade/next-version.mjs";
import { openParticipants } from "./upgrade/participants.mjs";
import { openPostgres } from "./upgrade/postgres.mjs";
import { openSqlite } from "./upgrade/sqlite.mjs";

const stores = { postgres: openPostgres, sqlite: openSqlite };

const { values: options } = parseArgs({
  options: {
    store: { type: "string", default: Object.keys(stores).join(",") },
    kept: { type: "string", default: "200000" },
    seconds: { type: "string", default: "8" },
  },
});
const stageMs = Number(options.seconds) * 1_000;

const underLoad = async (what) => {
  console.log(`  ${what}`);
  await new Promise((resolve) => setTimeout(resolve, stageMs));
};

const upgrade = async (kind) => {
  const next = await buildNext(kind);
  const store = await stores[kind]({ root: ownRoot, kept: Number(options.kept) });
  const { start, stop, run, killWhen, reports } = openParticipants({ kind, address: store.address });
  try {
    console.log(`${kind}: ${store.describe()}`);
    const old = [
      await start("worker", "worker-1", ownRoot),
      await start("worker", "worker-2", ownRoot),
      await start("producer", "producer", ownRoot),
    ];
    await underLoad("this version alone");

    console.log("  migrations, killed and run again");
    const watch = store.watchLocks();
    const killed = await killWhen("migrate", "killed-migration", next.root, store.isMigrating);
    const begin = performance.now();
    await run("migrate", "migration", next.root);
    const migratedInMs = Math.round(performance.now() - begin);
    const longestWaitMs = await watch.stop();
    await underLoad("this version on the new tables");

    const newer = [
      await start("worker", "next-worker", next.root),
      await start("producer", "next-producer", next.root),
    ];
    await underLoad("both versions");
    // A deployment that is rolled back: this version starts on the new tables.
    old.push(await start("worker", "worker-3", ownRoot));
    await underLoad("this version starts on the new tables");
    console.log("  the next version alone, until all jobs are finished");
    await stop(old);
    await stop(newer.slice(1));
    await store.untilDone();
    await stop(newer.slice(0, 1));

    return judge({ kind, killed, migratedInMs, longestWaitMs, reports, outcome: await store.readOutcome() });
  } finally {
    await stop();
    await store.close();
    await next.remove();
  }
};

let isGood = true;
for (const kind of options.store.split(",")) {
  if (!(kind in stores)) throw new Error(`--store is one of ${Object.keys(stores).join(", ")}.`);
  isGood = (await upgrade(kind)) && isGood;
}
process.exitCode = isGood ? 0 : 1;
