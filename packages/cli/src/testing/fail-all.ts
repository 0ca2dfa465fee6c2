import type { TestStore } from "./stores.ts";

/** Runs all jobs of these types, and none of them well. */
export const failAll = async ({ leasehold }: TestStore, ...typeNames: string[]): Promise<void> => {
  let builder = leasehold.createWorker({ retry: { type: "fixed", delayMs: 0 } });
  for (const typeName of typeNames) {
    builder = builder.implementJobType({
      typeName,
      maxAttempts: 1,
      process: async () => {
        throw new Error(`no \u001b[31m${typeName}`, { cause: new Error("the reason below") });
      },
    });
  }
  const worker = await builder.start();
  const isOpen = async (): Promise<boolean> =>
    (await leasehold.jobs.count({ typeName: typeNames, status: ["pending", "running"] })).length > 0;
  while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 10));
  await worker.stop();
};
