// Many jobs in one call: fewer round trips to an API, and one commit for the writes of all of them.
import { pathToFileURL } from "node:url";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes, failJob } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "index-page": { input: { url: string }; output: { words: number } };
  "record-view": { input: { page: string; at: number }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = await createSqliteStateAdapter({ file: ":memory:" });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  await stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE views (job TEXT PRIMARY KEY, page TEXT NOT NULL, at INTEGER NOT NULL)");
  });

  // Stands for a search engine that takes many documents at once and says of each whether it was accepted.
  const searchEngine = {
    index: async (urls: readonly string[], _options: { signal: AbortSignal }) => {
      print(`The search engine is asked once, for ${urls.length} pages.`);
      return urls.map((url) => ({ accepted: url !== "/broken", words: url.length }));
    },
  };

  const worker = await leasehold
    .createWorker()
    // #region outputs
    .implementJobTypeBatch({
      typeName: "index-page",
      maxSize: 200,
      maxWaitMs: 20,
      maxAttempts: 2,
      retry: { type: "fixed", delayMs: 5 },
      process: async ({ jobs, signal }) => {
        const results = await searchEngine.index(
          jobs.map((job) => job.input.url),
          { signal },
        );
        return results.map(({ accepted, words }, index) =>
          accepted ? { words } : failJob(new Error(`${jobs[index]!.input.url} was not accepted`)),
        );
      },
    })
    // #endregion
    // #region transaction
    .implementJobTypeBatch({
      typeName: "record-view",
      maxSize: 500,
      maxWaitMs: 20,
      process: async ({ complete }) =>
        complete(async ({ client, jobs }) => {
          // One statement for all rows, and one commit for the rows and the completions.
          const rows = jobs.map(({ id, input }) => [id, input.page, input.at]);
          client
            .prepare("INSERT INTO views SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)")
            .run(JSON.stringify(rows));
        }),
    })
    // #endregion
    .start();

  const pages = await leasehold.startJobSequences({
    sequences: ["/", "/broken", "/about"].map((url) => ({ typeName: "index-page", input: { url } }) as const),
  });
  const ended = await Promise.allSettled(pages.map((page) => leasehold.waitForJobSequenceCompletion(page)));
  for (const result of ended) {
    if (result.status === "fulfilled") print(`Words: ${result.value.output.words}`);
    else print(`Failed: ${(result.reason as { cause: Error }).cause.message}`);
  }

  const views = await leasehold.startJobSequences({
    sequences: Array.from(
      { length: 100 },
      (_, at) => ({ typeName: "record-view", input: { page: "/", at } }) as const,
    ),
  });
  await Promise.all(views.map((view) => leasehold.waitForJobSequenceCompletion(view)));
  await stateAdapter.provideContext(async ({ client }) => {
    const { rows } = client.prepare("SELECT count(*) AS rows FROM views").get() as { rows: number };
    print(`Views: ${rows}`);
  });

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
