import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  UnrecoverableJobError,
} from "leasehold";
import { expect, it } from "vitest";
import { openShop, type ShopTypes } from "../testing/open-shop.ts";

it("compares the latest two deployments, or those that are named", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const { read, dashboard } = await openShop(["read"], {}, stateAdapter);
  expect((await read("deployments/compare")).body).toMatchObject({ deployments: [], one: null, types: [] });

  const run = async (deployment: string | undefined, jobs: number, failing: number): Promise<void> => {
    const leasehold = await createLeasehold({
      stateAdapter,
      jobTypes: defineUnionJobTypes<ShopTypes>(),
      deployment,
    });
    const started = await leasehold.startJobSequences({
      sequences: Array.from({ length: jobs }, (_, n) => ({
        typeName: "mail" as const,
        input: { to: n < failing ? "nobody" : "ada" },
      })),
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "mail",
        process: async ({ job }) => {
          if (job.input.to === "nobody") throw new UnrecoverableJobError("nobody there");
          return null;
        },
      })
      .start();
    for (const job of started) await leasehold.waitForJobSequenceCompletion(job).catch(() => undefined);
    await worker.stop();
    await leasehold.close();
  };
  await run("v1", 40, 0);
  await run("v2", 40, 20);
  await run(undefined, 3, 0);

  const compare = async (query: string) =>
    (await read(`deployments/compare?before=2999-01-01T00:00:00Z&${query}`)).body;
  const chosen = await compare("one=v1&other=v2");
  expect(
    chosen.deployments.map(({ deployment, ended }: { deployment: string; ended: number }) => [
      deployment,
      ended,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ["v1", 40],
      ["v2", 40],
      ["(none)", 3],
    ]),
  );
  expect(chosen).toMatchObject({
    one: "v1",
    other: "v2",
    fewestSamples: 30,
    types: [
      {
        typeName: "mail",
        one: { ended: 40, failed: 0, attempts: 40 },
        other: { ended: 40, failed: 20 },
        failures: "more",
      },
    ],
  });
  expect(await compare("one=v2&other=v1")).toMatchObject({ types: [{ failures: "fewer" }] });
  expect(await compare("one=v1&other=(none)")).toMatchObject({
    other: "(none)",
    types: [{ other: { ended: 3 }, failures: "too_few", runTime: "too_few" }],
  });
  const usual = await compare("one=v1");
  expect(usual.other).not.toBe("v1");
  expect((await read("deployments/compare?two=v1")).status).toBe(400);
  await dashboard.close();
});
