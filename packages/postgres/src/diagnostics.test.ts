import { expect, inject, it } from "vitest";
import { openKit } from "./testing/kit.ts";
import { until } from "./testing/until.ts";

it("knows about how many jobs there are when the server has analysed the table", async () => {
  const kit = await openKit({ url: inject("postgres18Url") });
  await kit.start(500);
  const estimate = (): Promise<number> => kit.stateAdapter.diagnostics.estimateJobs({ limit: 100 });
  // Another session may tell the server later of the rows that it has written.
  await until(async () => {
    await kit.rows("ANALYZE $schema.job");
    return Math.abs((await estimate()) - 500) <= 50;
  }, "the estimate is about right");
  expect(await estimate()).toBeGreaterThan(0);
  await kit.close();
});
