import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { expect, it } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { clientOf, openShop, type ShopTypes } from "../testing/open-shop.ts";

/** A second process with a dashboard on the same store. */
const openBeside = async (stateAdapter: AnyStateAdapter, user = "ada") => {
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<ShopTypes>() });
  const dashboard = createDashboard({ leasehold, stateAdapter, authorize: () => ({ user, can: rights }) });
  return { dashboard, ...clientOf(dashboard, "") };
};

const createGate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
};

type Side = Pick<Awaited<ReturnType<typeof openBeside>>, "read" | "act">;

const stateOf = async ({ read }: Side, id: string): Promise<unknown> =>
  (await read(`actions/${id}`)).body.result?.state;

/** Cancels all jobs that wait, one a second. */
const beginSlowly = async ({ act }: Side): Promise<string> => {
  // Whoever goes on with it has to read the moment again.
  const filter = { scheduledBefore: "2100-01-01T00:00:00.000Z" };
  const { before } = (await act("plans/cancel", { filter })).body;
  return (await act("plans/cancel/run", { filter, before, pace: 1 })).body.id;
};

const openTwo = async () => {
  const clock = { at: Date.parse("2040-01-01T00:00:00Z") };
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => clock.at } });
  const first = await openShop(rights, {}, stateAdapter);
  for (const item of ["tea", "coffee", "milk"])
    await first.leasehold.start({ typeName: "order", input: { item } });
  clock.at += 1;
  return { clock, stateAdapter, first, second: await openBeside(stateAdapter) };
};

it("refuses to resume what another process is at work on, and goes on once that has been closed", async () => {
  const { first, second } = await openTwo();
  const id = await beginSlowly(first);
  await expect.poll(async () => (await second.read(`actions/${id}`)).body.result?.changed).toBe(1);
  const refused = await second.act(`plans/cancel/resume/${id}`);
  expect([refused.status, refused.body.error.code]).toEqual([409, "running"]);
  await first.dashboard.close();
  expect((await second.read(`actions/${id}`)).body).toMatchObject({
    result: { state: "stopped", changed: 1 },
    isUnderWay: false,
  });
  expect((await first.leasehold.listJobs({ status: "pending" })).jobs).toHaveLength(2);
  expect((await second.act(`plans/cancel/resume/${id}`)).status).toBe(200);
  await expect.poll(() => stateOf(second, id), { timeout: 10_000 }).toBe("done");
  expect((await second.read(`actions/${id}`)).body).toMatchObject({
    user: "grace",
    result: { changed: 3, by: "ada" },
  });
  expect((await second.act(`plans/cancel/resume/${id}`)).body.error.code).toBe("done");
});

it("waits for the portion under way when it is closed", async () => {
  const { stateAdapter, second } = await openTwo();
  const gate = createGate();
  const entered = createGate();
  const slow: AnyStateAdapter = {
    ...stateAdapter,
    cancelSequences: async (call) => {
      entered.open();
      await gate.opened;
      return stateAdapter.cancelSequences(call as never);
    },
  };
  const { dashboard, act } = await openBeside(slow, "eve");
  const id = await beginSlowly({ act, read: second.read });
  await entered.opened;
  let isClosed = false;
  const closed = dashboard.close().then(() => {
    isClosed = true;
  });
  await second.read("session");
  expect(isClosed).toBe(false);
  gate.open();
  await closed;
  expect((await second.read(`actions/${id}`)).body.result).toMatchObject({ state: "stopped", changed: 1 });
});

it("goes on with an action whose process died, once it has been silent for half a minute", async () => {
  const { clock, stateAdapter, second } = await openTwo();
  const history = stateAdapter.history!;
  const [wrote, woke] = [createGate(), createGate()];
  let writes = 0;
  // It has written that it begins, and has done a portion. What it wants to write then waits.
  const stalling: AnyStateAdapter = {
    ...stateAdapter,
    history: {
      ...history,
      replaceActionResult: async (call) => {
        writes += 1;
        if (writes > 1) {
          wrote.open();
          await woke.opened;
        }
        return history.replaceActionResult(call as never);
      },
    },
  };
  const first = await openBeside(stalling, "eve");
  const id = await beginSlowly(first);
  await wrote.opened;
  clock.at += 29_999;
  expect((await second.act(`plans/cancel/resume/${id}`)).status).toBe(409);
  clock.at += 1;
  expect((await second.read(`actions/${id}`)).body.isUnderWay).toBe(false);
  expect((await second.act(`plans/cancel/resume/${id}`)).status).toBe(200);
  await expect.poll(() => stateOf(second, id), { timeout: 10_000 }).toBe("done");
  const outcome = (await second.read(`actions/${id}`)).body;
  expect(outcome.result).toMatchObject({ changed: 2, by: "ada" });
  // It was not dead after all, but what it has to say does not count any more.
  woke.open();
  await first.dashboard.close();
  expect((await second.read(`actions/${id}`)).body).toEqual(outcome);
});

it("lets one of two go on that resume at the same moment", async () => {
  const { first, second, stateAdapter } = await openTwo();
  const third = await openBeside(stateAdapter, "eve");
  const id = await beginSlowly(first);
  await first.dashboard.close();
  const answers = await Promise.all([second, third].map(({ act }) => act(`plans/cancel/resume/${id}`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  await Promise.all([second.dashboard.close(), third.dashboard.close()]);
});

it("stops an action of another process after the portion under way", async () => {
  const { first, second } = await openTwo();
  const id = await beginSlowly(first);
  await expect.poll(async () => (await second.read(`actions/${id}`)).body.result?.changed).toBe(1);
  expect((await second.act(`plans/cancel/stop/${id}`)).body).toEqual({ stopped: true });
  await expect.poll(() => stateOf(second, id), { timeout: 10_000 }).toBe("stopped");
  const { changed } = (await second.read(`actions/${id}`)).body.result;
  expect(await first.leasehold.countJobs({ status: "pending" })).toMatchObject([{ count: 3 - changed }]);
  expect((await second.act(`plans/cancel/stop/${id}`)).body).toEqual({ stopped: false });
});

it("keeps the actions of two dashboards in one process apart", async () => {
  const { first, second } = await openTwo();
  const id = await beginSlowly(first);
  await second.dashboard.close();
  expect((await first.read(`actions/${id}`)).body.isUnderWay).toBe(true);
  await first.dashboard.close();
  expect((await first.read("actions")).status).toBe(503);
});
