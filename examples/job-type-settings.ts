// Continuations, internal types and blockers with `defineJobTypes`: as names, checked by the compiler and at run time.
import { pathToFileURL } from "node:url";
import { createInProcessStateAdapter, createLeasehold, defineJobTypes, typeOnly } from "leasehold";
import { z } from "zod";

// #region types
const jobTypes = defineJobTypes({
  "check-stock": { input: typeOnly<{ sku: string }>(), output: typeOnly<{ shelf: number }>() },
  "check-address": { input: typeOnly<{ zip: string }>(), output: typeOnly<{ city: string }>() },
  "place-order": {
    input: z.object({ sku: z.string().min(1), zip: z.string().regex(/^\d{5}$/) }),
    blockers: ["check-stock", "check-address"], // in the order in which `startBlockers` returns them
    continuesTo: ["ship-order"], // no `output`: the job always continues
  },
  "ship-order": {
    input: z.object({ shelf: z.int(), city: z.string() }),
    output: z.object({ parcel: z.string() }),
    internal: true, // reached by `continueWith` only, never started
  },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region start
  const order = await leasehold.startJobSequence({
    typeName: "place-order",
    input: { sku: "lamp", zip: "10115" },
    startBlockers: async ({ job }) => [
      await leasehold.startJobSequence({ typeName: "check-stock", input: { sku: job.input.sku } }),
      await leasehold.startJobSequence({ typeName: "check-address", input: { zip: job.input.zip } }),
    ],
  });
  // #endregion

  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "check-stock", process: async () => ({ shelf: 7 }) })
    .implementJobType({ typeName: "check-address", process: async () => ({ city: "Berlin" }) })
    // #region handlers
    .implementJobType({
      typeName: "place-order",
      process: async ({ job, complete }) => {
        const [stock, address] = job.blockers;
        const input = { shelf: stock.output.shelf, city: address.output.city };
        return complete(({ continueWith }) => continueWith({ typeName: "ship-order", input }));
      },
    })
    .implementJobType({
      typeName: "ship-order",
      process: async ({ job }) => ({ parcel: `shelf ${job.input.shelf} to ${job.input.city}` }),
    })
    // #endregion
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(order);
  print(`Shipped from ${output.parcel}`);

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
