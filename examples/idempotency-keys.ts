// Idempotency keys in both directions: requests that arrive twice, and calls to others that are made twice.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "pay-out": { input: { account: string; cents: number }; output: { transfer: string } };
}>();

/** Stands for a bank that remembers the idempotency keys it has seen. */
const createBank = () => {
  const transfers = new Map<string, string>();
  return {
    transfers,
    transfer: async (account: string, _cents: number, { idempotencyKey }: { idempotencyKey: string }) => {
      const known = transfers.get(idempotencyKey);
      if (known !== undefined) return known;
      const transfer = `transfer ${transfers.size + 1} to ${account}`;
      transfers.set(idempotencyKey, transfer);
      return transfer;
    },
  };
};

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
  const bank = createBank();

  // #region request
  // In the route: the client sends the same `Idempotency-Key` header when it repeats a request.
  const requestPayOut = (account: string, cents: number, idempotencyKey: string) =>
    leasehold.startJobSequence({
      typeName: "pay-out",
      input: { account, cents },
      // "all": also once the first pay-out has finished, for as long as it is kept.
      deduplication: { key: idempotencyKey, strategy: "all" },
    });
  // #endregion

  const worker = await leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 5 } })
    // #region call
    .implementJobType({
      typeName: "pay-out",
      process: async ({ job }) => {
        const { account, cents } = job.input;
        // `job.id` is the same at every attempt, so a repeated call moves the money once.
        const transfer = await bank.transfer(account, cents, { idempotencyKey: job.id });
        if (job.attempt === 1) throw new Error("The connection was lost after the bank had answered.");
        return { transfer };
      },
    })
    // #endregion
    .start();

  const first = await requestPayOut("ada", 5_000, "request-1");
  const { output } = await leasehold.waitForJobSequenceCompletion(first);
  print(`${output.transfer}, at attempt ${(await leasehold.jobs.get({ id: first.id }))?.attempt}`);
  const again = await requestPayOut("ada", 5_000, "request-1");
  print(`The same request again: deduplicated=${again.deduplicated}`);
  print(`Transfers made: ${bank.transfers.size}`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
