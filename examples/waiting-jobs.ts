// Jobs that wait can be replaced by later starts, put off, brought forward, changed, and given up on.
import { pathToFileURL } from "node:url";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  JobSequenceFailedError,
  typeOnly,
} from "leasehold";

// #region types
const jobTypes = defineJobTypes({
  "index-document": { input: typeOnly<{ id: string; version: number }>(), output: typeOnly<null>() },
  "send-code": { input: typeOnly<{ to: string }>(), expireAfterMs: 60_000 },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // This program turns the store's clock by hand.
  let time = Date.parse("2026-01-01T00:00:00Z");
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => time } });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const seconds = (date: Date): number => (date.getTime() - Date.parse("2026-01-01T00:00:00Z")) / 1_000;

  // #region debounce
  const documentChanged = (version: number) =>
    leasehold.startJobSequence({
      typeName: "index-document",
      input: { id: "d-1", version },
      debounce: { key: "d-1", waitMs: 2_000, maxWaitMs: 10_000 },
    });
  // #endregion
  let changed = await documentChanged(1);
  for (let version = 2; version <= 12; version += 1) {
    time += 1_000;
    changed = await documentChanged(version);
  }
  const debounced = await leasehold.jobs.get({ id: changed.id, typeName: "index-document" });
  print(`After 12 changes: replaced=${changed.replaced}, version ${debounced?.input.version}`);
  print(`It runs at second ${seconds(debounced!.scheduledAt)}`);

  // #region update
  const { changed: updated } = await leasehold.jobs.update({
    ids: [changed.id],
    typeName: "index-document",
    input: { id: "d-1", version: 99 },
    priority: 10,
    schedule: { afterMs: 60_000 },
  });
  const report = await leasehold.jobs.update({
    filter: { typeName: "index-document" },
    schedule: { afterMs: 0 },
    dryRun: true,
  });
  // #endregion
  print(`Moved to second ${seconds(updated[0]!.scheduledAt)}`);
  print(`Would run now: ${report.changed.length}`);

  // #region expiry
  const code = await leasehold.startJobSequence({ typeName: "send-code", input: { to: "+49 30 1234" } });
  print((await leasehold.jobs.explain(code)).summary);
  // #endregion
  time += 60_000;
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "send-code", process: async () => print("This is not printed") })
    .start();
  await leasehold.waitForJobSequenceCompletion({ ...code, timeoutMs: 5_000 }).catch((error: unknown) => {
    if (error instanceof JobSequenceFailedError) print(`Failed with ${error.reason}`);
  });
  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
