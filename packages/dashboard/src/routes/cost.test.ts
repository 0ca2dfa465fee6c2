import { createInProcessStateAdapter } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { expect, it } from "vitest";
import { openShop } from "../testing/open-shop.ts";

const countCalls = () => {
  const stateAdapter = createInProcessStateAdapter();
  const calls = { causes: 0 };
  const counted: AnyStateAdapter = {
    ...stateAdapter,
    history: {
      ...stateAdapter.history!,
      listCauses: (call) => {
        calls.causes += 1;
        return stateAdapter.history!.listCauses(call as never);
      },
    },
  };
  return { counted, calls };
};

it("reads the causes once for all viewers and the summary, and redacts them for each viewer", async () => {
  const { counted, calls } = countCalls();
  const can: ("read" | "payloads")[] = ["read", "payloads"];
  const { leasehold, read, startWorker } = await openShop(
    null,
    { authorize: () => ({ user: "ada", can }) },
    counted,
  );
  await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  const worker = await startWorker();
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  await worker.stop();
  expect((await read("causes")).body.causes).toMatchObject([{ message: "out of stock" }]);
  can.pop();
  expect((await read("causes")).body.causes).toMatchObject([{ message: { $hidden: expect.any(String) } }]);
  await read("summary");
  expect(calls.causes).toBe(1);
});

it("counts a scan that its client has given up, until it ends", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const ends: (() => void)[] = [];
  let scans = 0;
  const slow: AnyStateAdapter = {
    ...stateAdapter,
    listJobs: async (call) => {
      if (call.filter.typeNames?.includes("rare") === true) {
        scans += 1;
        await new Promise<void>((resolve) => ends.push(resolve));
      }
      return stateAdapter.listJobs(call as never);
    },
  };
  const { ask, dashboard } = await openShop(["read"], {}, slow);
  const clients = Array.from({ length: 4 }, () => new AbortController());
  const answers = clients.map(({ signal }) => ask("api/v1/jobs?typeName=rare", { signal }));
  await expect.poll(() => scans).toBe(2);
  for (const client of clients.slice(0, 2)) client.abort();
  expect((await Promise.all(answers.slice(0, 2))).map(({ status }) => status)).toEqual([503, 503]);
  expect(scans).toBe(2);
  for (const end of ends.splice(0)) end();
  await expect.poll(() => scans).toBe(4);
  for (const end of ends.splice(0)) end();
  expect((await Promise.all(answers.slice(2))).map(({ status }) => status)).toEqual([200, 200]);
  await dashboard.close();
});

it("looks for finished jobs only among those that were created before", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const filters: unknown[] = [];
  const watched: AnyStateAdapter = {
    ...stateAdapter,
    listJobs: (call) => {
      filters.push(call.filter);
      return stateAdapter.listJobs(call as never);
    },
  };
  const { read } = await openShop(["read"], { readOnly: true }, watched);
  const [finished, created] = ["2040-01-02T00:00:00.000Z", "2040-01-01T00:00:00.000Z"];
  await read(`jobs?finishedBefore=${finished}`);
  await read(`jobs?finishedBefore=${finished}&createdBefore=${created}`);
  expect(filters).toMatchObject([
    { finishedBefore: Date.parse(finished), createdBefore: Date.parse(finished) },
    { finishedBefore: Date.parse(finished), createdBefore: Date.parse(created) },
  ]);
});

it("refuses none of many viewers of one user who ask for causes at once", async () => {
  const { counted, calls } = countCalls();
  const { read } = await openShop(["read"], {}, counted);
  const answers = await Promise.all(Array.from({ length: 30 }, () => read("causes")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(calls.causes).toBe(1);
});
