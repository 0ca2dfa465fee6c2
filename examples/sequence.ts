// Jobs chain like promises: each one hands over to the next, and whoever started the first waits for the last.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
} from "leasehold";

// #region types
const jobTypes = defineUnionJobTypes<{
  "reserve-stock": {
    input: { item: string; cents: number };
    output: DefineContinuationOutput<"charge-card">;
  };
  "charge-card": {
    input: DefineContinuationInput<{ reservation: string; cents: number }>;
    output: { declined: string } | DefineContinuationOutput<"ship-order">;
  };
  "ship-order": { input: DefineContinuationInput<{ reservation: string }>; output: { trackingCode: string } };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region handlers
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "reserve-stock",
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) =>
          continueWith({
            typeName: "charge-card",
            input: { reservation: `${job.input.item}-1`, cents: job.input.cents },
          }),
        ),
    })
    .implementJobType({
      typeName: "charge-card",
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) => {
          if (job.input.cents > 50_000) return { declined: "over the limit" };
          return continueWith({ typeName: "ship-order", input: { reservation: job.input.reservation } });
        }),
    })
    .implementJobType({
      typeName: "ship-order",
      process: async ({ job }) => ({ trackingCode: `parcel-${job.input.reservation}` }),
    })
    .start();
  // #endregion

  // #region wait
  const order = await leasehold.startJobSequence({
    typeName: "reserve-stock",
    input: { item: "lamp", cents: 4_900 },
  });
  const { output } = await leasehold.waitForJobSequenceCompletion(order);
  print("declined" in output ? `Declined: ${output.declined}` : `Shipped: ${output.trackingCode}`);
  // #endregion

  const { jobs } = await leasehold.jobs.listInSequence({ id: order.id, typeName: order.typeName });
  print(`Jobs of the sequence: ${jobs.map(({ typeName }) => typeName).join(" -> ")}`);

  const costly = await leasehold.startJobSequence({
    typeName: "reserve-stock",
    input: { item: "piano", cents: 900_000 },
  });
  const refused = await leasehold.waitForJobSequenceCompletion(costly);
  print("declined" in refused.output ? `Declined: ${refused.output.declined}` : "Shipped after all");

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
