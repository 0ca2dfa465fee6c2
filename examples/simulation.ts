// Your own handlers under crashes, lost replies, pauses and everything else that goes wrong in production.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes } from "leasehold";
// #region workload
import { simulate, type SimulationWorkload } from "leasehold/testing";

interface Types {
  "charge-card": { input: { order: string }; output: string };
}

/** The payment provider outlives our processes; it charges once for each key it has not seen. */
const createShop = (
  charges: Map<string, string>,
  keyOf: (job: { id: string; attempt: number }) => string,
) => {
  const workload: SimulationWorkload<Types> = {
    jobTypes: defineUnionJobTypes<Types>(),
    createWorker: (leasehold, process) =>
      leasehold.createWorker().implementJobType({
        typeName: "charge-card",
        process: async ({ job, signal }) => {
          charges.set(keyOf(job), job.input.order);
          await process.sleep(100, signal);
          return "paid";
        },
      }),
    operate: async (leasehold, { random }) => {
      const order = `order ${random.integer(1, 1_000_000)}`;
      await leasehold.startJobSequence({
        typeName: "charge-card",
        input: { order },
        deduplication: { key: order },
      });
    },
  };
  return workload;
};
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  /** How many orders were charged twice over so many seeds. */
  const countDoubleCharges = async (
    keyOf: (job: { id: string; attempt: number }) => string,
  ): Promise<number> => {
    let double = 0;
    // #region run
    for (let seed = 1; seed <= 100; seed += 1) {
      const charges = new Map<string, string>();
      const { violations } = await simulate({ seed, workload: createShop(charges, keyOf) });
      if (violations.length > 0) throw new Error(`Seed ${seed}: ${violations[0]!.message}`);
      const orders = [...charges.values()];
      double += orders.length - new Set(orders).size;
    }
    // #endregion
    return double;
  };

  const careless = await countDoubleCharges(({ id, attempt }) => `${id} ${attempt}`);
  print(`A new key for each attempt: ${careless > 0 ? "some customers pay twice" : "nobody pays twice"}`);
  const careful = await countDoubleCharges(({ id }) => id);
  print(`The job's id as the key: ${careful > 0 ? "some customers pay twice" : "nobody pays twice"}`);
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
