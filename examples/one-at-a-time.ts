// One at a time for each key, in order, and nothing lost: a table of changes, and one sequence per key that empties it.
import { pathToFileURL } from "node:url";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, type DefineContinuationOutput, defineUnionJobTypes } from "leasehold";

// #region types
const jobTypes = defineUnionJobTypes<{
  "apply-changes": {
    input: { account: string };
    output: null | DefineContinuationOutput<"apply-changes">;
  };
}>();
// #endregion

interface Change {
  readonly id: number;
  readonly text: string;
}

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = await createSqliteStateAdapter({ file: ":memory:" });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  await stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE changes (id INTEGER PRIMARY KEY, account TEXT NOT NULL, text TEXT NOT NULL)");
  });

  // #region producer
  const addChange = (account: string, text: string) =>
    leasehold.runInTransaction(async (ctx) => {
      // On PostgreSQL, lock the account first: SELECT … FROM accounts WHERE id = $1 FOR UPDATE
      ctx.client.prepare("INSERT INTO changes (account, text) VALUES (?, ?)").run(account, text);
      await leasehold.startJobSequence({
        ...ctx,
        typeName: "apply-changes",
        input: { account },
        deduplication: { key: account }, // at most one unfinished sequence for each account
      });
    });
  // #endregion

  const applied: string[] = [];
  const busy = new Set<string>();
  let overlaps = 0;
  const apply = async (account: string, { text }: Change): Promise<void> => {
    if (busy.has(account)) overlaps += 1;
    busy.add(account);
    await new Promise((done) => setTimeout(done, 2));
    applied.push(`${account} ${text}`);
    busy.delete(account);
  };

  const worker = await leasehold
    .createWorker()
    // #region handler
    .implementJobType({
      typeName: "apply-changes",
      process: async ({ job, complete, prepare }) => {
        const { account } = job.input;
        const change = await prepare({ mode: "staged" }, async ({ client }) =>
          client.prepare("SELECT id, text FROM changes WHERE account = ? ORDER BY id").get(account),
        );
        if (change !== undefined) await apply(account, change as Change); // slow, and outside any transaction
        return complete(async ({ client, continueWith }) => {
          // On PostgreSQL, lock the account here, too: a change is then added before this transaction or after it.
          if (change !== undefined) {
            client.prepare("DELETE FROM changes WHERE id = ?").run((change as Change).id);
          }
          const another = client.prepare("SELECT 1 FROM changes WHERE account = ?").get(account);
          return another === undefined
            ? null
            : continueWith({ typeName: "apply-changes", input: { account } });
        });
      },
    })
    // #endregion
    .start({ concurrency: 10 });

  const texts = ["1", "2", "3", "4", "5"];
  for (const text of texts) await Promise.all(["ada", "grace"].map((account) => addChange(account, text)));
  const left = () =>
    stateAdapter.provideContext(async ({ client }) => client.prepare("SELECT id FROM changes").all().length);
  while ((await left()) > 0) await new Promise((done) => setTimeout(done, 5));

  for (const account of ["ada", "grace"]) {
    print(`In order: ${applied.filter((change) => change.startsWith(account)).join(", ")}`);
  }
  print(`Two at once for one account: ${overlaps}`);

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
