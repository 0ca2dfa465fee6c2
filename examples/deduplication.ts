// A second start with the same key returns the existing sequence. Options decide which sequences count as existing.
import { pathToFileURL } from "node:url";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "sync-account": { input: { accountId: string }; output: null };
  "send-invoice": { input: { invoiceId: string }; output: null };
  "send-digest": { input: { userId: string }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  // The store's clock decides about windows; this program turns it by hand.
  let time = Date.parse("2026-01-01T00:00:00Z");
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => time } });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region unfinished
  const sync = () =>
    leasehold.startJobSequence({
      typeName: "sync-account",
      input: { accountId: "a-1" },
      deduplication: { key: "a-1" },
    });
  const first = await sync();
  const second = await sync();
  print(`While unfinished: deduplicated=${second.deduplicated}, same id=${second.id === first.id}`);
  // #endregion

  await leasehold.completeJobSequence({
    id: first.id,
    typeName: "sync-account",
    complete: async ({ job, complete }) => complete(job, () => null),
  });
  print(`After it has finished: deduplicated=${(await sync()).deduplicated}`);

  // #region all
  const invoice = () =>
    leasehold.startJobSequence({
      typeName: "send-invoice",
      input: { invoiceId: "i-1" },
      deduplication: { key: "i-1", strategy: "all" },
    });
  // #endregion
  const sent = await invoice();
  await leasehold.completeJobSequence({
    id: sent.id,
    typeName: "send-invoice",
    complete: async ({ job, complete }) => complete(job, () => null),
  });
  print(`Scope "all", after it has finished: deduplicated=${(await invoice()).deduplicated}`);

  // #region window
  const digest = () =>
    leasehold.startJobSequence({
      typeName: "send-digest",
      input: { userId: "u-1" },
      deduplication: { key: "u-1", strategy: "all", windowMs: 3_600_000 },
    });
  // #endregion
  await digest();
  print(`Within the hour: deduplicated=${(await digest()).deduplicated}`);
  time += 3_600_000;
  print(`An hour later: deduplicated=${(await digest()).deduplicated}`);

  // Keys of different job types never meet.
  const other = await leasehold.startJobSequence({
    typeName: "sync-account",
    input: { accountId: "u-1" },
    deduplication: { key: "u-1" },
  });
  print(`The same key for another type: deduplicated=${other.deduplicated}`);

  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
