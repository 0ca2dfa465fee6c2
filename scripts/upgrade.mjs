// Workers and producers of an earlier version and of this one on the same store, while the migrations run under load.
//
//   npm run test:upgrade -- [--store postgres,sqlite] [--from COMMIT] [--kept 200000] [--seconds 8]
//
// The earlier version is built from git into a temporary folder. Without --from it is the one before the newest migration of
// the store. Nothing may be lost or done twice, no statement may fail, and nobody may wait for a lock of a migration for more
// than 100 ms. Exits with 1 when something is wrong.
import { parseArgs } from "node:util";
import { buildEarlier, commitBeforeNewestMigration, ownRoot } from "./upgrade/earlier-version.mjs";
import { judge } from "./upgrade/judge.mjs";
import { openParticipants } from "./upgrade/participants.mjs";
import { openPostgres } from "./upgrade/postgres.mjs";
import { openSqlite } from "./upgrade/sqlite.mjs";

const stores = { postgres: openPostgres, sqlite: openSqlite };

const { values: options } = parseArgs({
  options: {
    store: { type: "string", default: Object.keys(stores).join(",") },
    from: { type: "string" },
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
  const earlier = await buildEarlier(options.from ?? (await commitBeforeNewestMigration(kind)));
  const store = await stores[kind]({ earlierRoot: earlier.root, kept: Number(options.kept) });
  const { start, stop, run, killWhen, reports } = openParticipants({ kind, address: store.address });
  try {
    console.log(`${kind}: from ${earlier.commit.slice(0, 7)}, ${store.describe()}`);
    const old = [
      await start("worker", "earlier-worker-1", earlier.root),
      await start("worker", "earlier-worker-2", earlier.root),
      await start("producer", "earlier-producer", earlier.root),
    ];
    await underLoad("the earlier version alone");

    console.log("  migrations, killed and run again");
    const watch = store.watchLocks();
    const killed = await killWhen("migrate", "killed-migration", ownRoot, store.isMigrating);
    const begin = performance.now();
    await run("migrate", "migration", ownRoot);
    const migratedInMs = Math.round(performance.now() - begin);
    const longestWaitMs = await watch.stop();
    await underLoad("the earlier version on the new tables");

    const present = [await start("worker", "worker", ownRoot), await start("producer", "producer", ownRoot)];
    await underLoad("both versions");
    // A deployment that is taken back: the earlier version begins on the new tables.
    old.push(await start("worker", "earlier-worker-3", earlier.root));
    await underLoad("the earlier version begins on the new tables");
    console.log("  this version alone, until all is done");
    await stop(old);
    await stop(present.slice(1));
    await store.untilDone();
    await stop(present.slice(0, 1));

    return judge({ kind, killed, migratedInMs, longestWaitMs, reports, outcome: await store.readOutcome() });
  } finally {
    await stop();
    await store.close();
    await earlier.remove();
  }
};

let isGood = true;
for (const kind of options.store.split(",")) {
  if (!(kind in stores)) throw new Error(`--store is one of ${Object.keys(stores).join(", ")}.`);
  isGood = (await upgrade(kind)) && isGood;
}
process.exitCode = isGood ? 0 : 1;
