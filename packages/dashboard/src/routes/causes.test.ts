import { createInProcessStateAdapter } from "leasehold";
import { expect, it } from "vitest";
import { openShop } from "../testing/open-shop.ts";

it("says how many failed from a cause in each hour of the last day", async () => {
  const clock = { at: Date.parse("2040-01-01T12:30:00Z") };
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => clock.at } });
  const { leasehold, read, startWorker } = await openShop(["read"], {}, stateAdapter);
  const failSome = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1)
      await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
    const worker = await startWorker();
    await expect.poll(async () => (await leasehold.jobs.list({ status: "pending" })).jobs).toEqual([]);
    await worker.stop();
  };
  const trend = async (): Promise<number[]> => (await read("causes")).body.causes[0].trend;
  await failSome(1);
  clock.at += 3_600_000;
  await failSome(2);
  expect((await read("causes")).body.causes).toMatchObject([{ count: 3, types: [{ count: 3 }] }]);
  expect(await trend()).toEqual([...Array.from({ length: 22 }, () => 0), 1, 2]);
  clock.at += 23 * 3_600_000;
  expect(await trend()).toEqual([2, ...Array.from({ length: 23 }, () => 0)]);
  clock.at += 3_600_000;
  expect(await trend()).toEqual(Array.from({ length: 24 }, () => 0));
});
