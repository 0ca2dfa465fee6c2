import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  InvalidOptionError,
} from "leasehold";
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

const resultOf = async ({ read }: Pick<Side, "read">, id: string) =>
  (await read(`actions/${id}`)).body.result;

const untilState = async (side: Side, id: string, state: string): Promise<void> => {
  await expect.poll(async () => (await resultOf(side, id)).state, { timeout: 10_000 }).toBe(state);
};

const untilChanged = async (side: Side, id: string, changed: number): Promise<void> => {
  await expect.poll(async () => (await resultOf(side, id)).changed, { timeout: 10_000 }).toBe(changed);
};

/** Cancels all jobs that wait, one a second. */
const beginSlowly = async ({ act, read }: Side): Promise<string> => {
  // The worker has to turn the text of the time into a date again.
  const filter = { scheduledBefore: "2100-01-01T00:00:00.000Z" };
  // Without a plan, whose dry run cancels, too.
  const before = (await read("session")).body.now;
  return (await act("plans/cancel/run", { filter, before, pace: 1 })).body.id;
};

const openTwo = async () => {
  const clock = { at: Date.parse("2040-01-01T00:00:00Z") };
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => clock.at } });
  const first = await openShop(rights, {}, stateAdapter);
  for (const item of ["tea", "coffee", "milk"])
    await first.leasehold.startJobSequence({ typeName: "order", input: { item } });
  clock.at += 1;
  return { clock, stateAdapter, first, second: await openBeside(stateAdapter) };
};

it("continues in another process when the first one is closed", async () => {
  const { first, second } = await openTwo();
  const id = await beginSlowly(first);
  await untilChanged(first, id, 1);
  const refused = await second.act(`plans/cancel/resume/${id}`);
  expect([refused.status, refused.body.error.code]).toEqual([409, "running"]);
  await first.dashboard.close();
  await untilState(second, id, "done");
  expect((await second.read(`actions/${id}`)).body).toMatchObject({
    user: "grace",
    result: { changed: 3, by: "grace" },
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
  expect((await stateAdapter.getJobs({ jobIds: [id] }))[0]).toMatchObject({ status: "pending", attempt: 0 });
  expect(await resultOf(second, id)).toMatchObject({ state: "running", changed: 1 });
});

it("continues an action whose process died when its lease has expired, where the last report left it", async () => {
  const { clock, stateAdapter, second } = await openTwo();
  const [reporting, woke] = [createGate(), createGate()];
  let reports = 0;
  // The first dashboard has reported one portion and done another. The second report waits, as if the process had stalled.
  const stalling: AnyStateAdapter = {
    ...stateAdapter,
    renewLeases: async (call) => {
      if (call.leases.some(({ progress }) => progress !== undefined)) reports += 1;
      if (reports > 1) {
        reporting.open();
        await woke.opened;
      }
      return stateAdapter.renewLeases(call as never);
    },
  };
  const first = await openBeside(stalling, "eve");
  const id = await beginSlowly(first);
  await reporting.opened;
  expect(await resultOf(second, id)).toMatchObject({ state: "running", changed: 1 });
  clock.at += 30_000;
  await untilState(second, id, "done");
  const outcome = await resultOf(second, id);
  // Cancelling a job twice changes nothing, so the portion that was not reported counts for no process.
  expect(outcome).toMatchObject({ changed: 2, by: "eve" });
  woke.open();
  await first.dashboard.close();
  expect(await resultOf(second, id)).toEqual(outcome);
});

it("is continued by a new dashboard without any request", async () => {
  const { first, stateAdapter } = await openTwo();
  const id = await beginSlowly(first);
  await untilChanged(first, id, 1);
  await first.dashboard.close();
  await openBeside(stateAdapter);
  const read = async () => (await stateAdapter.getJobs({ jobIds: [id] }))[0]?.status;
  await expect.poll(read, { timeout: 10_000 }).toBe("completed");
});

it("is not run by a dashboard that is only for reading", async () => {
  const { first, stateAdapter } = await openTwo();
  const id = await beginSlowly(first);
  await first.dashboard.close();
  let claims = 0;
  const counted: AnyStateAdapter = {
    ...stateAdapter,
    claimJobs: (call) => {
      claims += 1;
      return stateAdapter.claimJobs(call as never);
    },
  };
  const { read, dashboard } = await openShop(rights, { readOnly: true }, counted);
  expect(await resultOf({ read }, id)).toMatchObject({ state: "running" });
  expect((await read("actions")).body.actions).toHaveLength(1);
  await dashboard.close();
  expect(claims).toBe(0);
});

it("lets one of two resume a stopped action at the same time, and names who did", async () => {
  const { first, second, stateAdapter } = await openTwo();
  const third = await openBeside(stateAdapter, "ada");
  const id = await beginSlowly(first);
  await untilChanged(first, id, 1);
  expect((await first.act(`plans/cancel/stop/${id}`)).body).toEqual({ stopped: true });
  expect(await resultOf(first, id)).toMatchObject({
    state: "stopped",
    changed: 1,
    by: "grace",
    stoppedBy: "grace",
  });
  const answers = await Promise.all([second, third].map(({ act }) => act(`plans/cancel/resume/${id}`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  await untilState(second, id, "done");
  expect((await second.read(`actions/${id}`)).body).toMatchObject({
    user: "grace",
    result: { changed: 3, by: "ada" },
  });
});

it("stops an action of another process after the portion under way", async () => {
  const { first, stateAdapter } = await openTwo();
  const second = await openBeside(stateAdapter, "eve");
  const id = await beginSlowly(first);
  await untilChanged(second, id, 1);
  expect((await second.act(`plans/cancel/stop/${id}`)).body).toEqual({ stopped: true });
  await untilState(second, id, "stopped");
  const { changed, stoppedBy } = await resultOf(second, id);
  expect(stoppedBy).toBe("eve");
  expect(await first.leasehold.jobs.count({ status: "pending" })).toMatchObject([{ count: 3 - changed }]);
  expect((await second.act(`plans/cancel/stop/${id}`)).body).toEqual({ stopped: false });
});

it("reports the portion under way before it stops", async () => {
  const { stateAdapter, second } = await openTwo();
  const [entered, gate] = [createGate(), createGate()];
  const slow: AnyStateAdapter = {
    ...stateAdapter,
    cancelSequences: async (call) => {
      entered.open();
      await gate.opened;
      return stateAdapter.cancelSequences(call as never);
    },
  };
  const { read, act } = await openBeside(slow, "eve");
  const id = await beginSlowly({ act, read });
  await entered.opened;
  const stopped = act(`plans/cancel/stop/${id}`);
  await second.read("session");
  gate.open();
  expect((await stopped).body).toEqual({ stopped: true });
  expect(await resultOf({ read }, id)).toMatchObject({ state: "stopped", changed: 1 });
});

it("is stopped and resumed with the right to its kind only", async () => {
  const { first, stateAdapter } = await openTwo();
  const id = await beginSlowly(first);
  const { act } = await openShop(["read", "redrive"], {}, stateAdapter);
  for (const verb of ["stop", "resume"]) {
    expect((await act(`plans/cancel/${verb}/${id}`)).status).toBe(403);
    expect((await act(`plans/redrive/${verb}/${id}`)).status).toBe(404);
  }
  expect((await resultOf(first, id)).state).toBe("running");
});

it("keeps the actions of two dashboards in one process apart", async () => {
  const { first, second } = await openTwo();
  const id = await beginSlowly(first);
  await second.dashboard.close();
  expect((await resultOf(first, id)).state).toBe("running");
  await first.dashboard.close();
  expect((await first.read("actions")).status).toBe(503);
});

it("shows why an action failed, and resumes it", async () => {
  const { stateAdapter } = await openTwo();
  const errors: Error[] = [new InvalidOptionError("ids", "are refused"), new Error("at db.example:5432")];
  const failing: AnyStateAdapter = {
    ...stateAdapter,
    cancelSequences: async (call) => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return stateAdapter.cancelSequences(call as never);
    },
  };
  const side = await openBeside(failing);
  const id = await beginSlowly(side);
  await untilState(side, id, "failed");
  expect((await resultOf(side, id)).error).toMatch(/are refused/);
  await side.act(`plans/cancel/resume/${id}`);
  await expect
    .poll(async () => (await resultOf(side, id)).error, { timeout: 10_000 })
    .toBe("The store could not do it.");
  await side.act(`plans/cancel/resume/${id}`);
  await untilState(side, id, "done");
  expect(await resultOf(side, id)).toMatchObject({ changed: 3 });
});

it("hides actions in lists, counts and causes, and finds them where they are named", async () => {
  const { first } = await openTwo();
  const { leasehold, read, act } = first;
  const id = await beginSlowly(first);
  await act(`plans/cancel/stop/${id}`);
  expect((await leasehold.jobs.list()).jobs.map(({ typeName }) => typeName)).not.toContain(
    "leasehold.action",
  );
  expect((await leasehold.jobs.list({ limit: 1 })).jobs).toHaveLength(1);
  expect((await leasehold.jobs.listSequences({ limit: 1 })).sequences).toMatchObject([{ typeName: "order" }]);
  expect((await leasehold.jobs.count()).map(({ queue }) => queue)).not.toContain("leasehold.actions");
  const named = await leasehold.jobs.list({ queue: "leasehold.actions" } as object);
  expect(named.jobs).toMatchObject([{ id, typeName: "leasehold.action" }]);
  for (const path of ["jobs", "backlog", "causes", "statistics", "processes"])
    expect(JSON.stringify((await read(path)).body), path).not.toContain("leasehold.action");
  expect((await read(`jobs/${id}`)).body).toMatchObject({ job: { id }, actions: [] });
});

it("keeps the log when finished jobs are pruned or chosen by a filter", async () => {
  const { clock, first, stateAdapter } = await openTwo();
  const { leasehold, act, read } = first;
  const stopped = await beginSlowly(first);
  await act(`plans/cancel/stop/${stopped}`);
  const done = await act("limits/pause", { queue: "default" });
  expect(done.status).toBe(200);
  await leasehold.jobs.redrive({ filter: {} });
  for (const [kind, filter] of [
    ["delete", { queue: ["leasehold.actions"] }],
    ["cancel", { queue: ["leasehold.actions"] }],
    ["delete", {}],
  ] as const)
    expect((await act(`plans/${kind}`, { filter })).body.preview.examples.changed).not.toContain(stopped);
  expect((await act("plans/delete", { ids: [stopped] })).body.preview.changed).toBe(0);
  const user = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<ShopTypes>(),
    defaults: { retention: { completedMs: 0, failedMs: 0 } },
  });
  clock.at += 1_000;
  await user.jobs.prune({ olderThanMs: 0, statuses: ["completed", "failed"] });
  expect((await read("actions")).body.actions).toMatchObject([
    { kind: "pause", result: { state: "done" } },
    { id: stopped, result: { state: "stopped" } },
  ]);
});

it("writes with the codec of the Leasehold, which can read its jobs then", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const codec = {
    name: "base64",
    encode: (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64"),
    decode: (text: string): unknown => JSON.parse(Buffer.from(text, "base64").toString()),
  };
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<ShopTypes>(),
    codec,
  });
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    authorize: () => ({ user: "ada", can: rights }),
  });
  const { act } = clientOf(dashboard, "");
  await act("limits/pause", { queue: "default" });
  const { jobs } = await leasehold.jobs.list({ queue: "leasehold.actions" } as object);
  expect(jobs).toMatchObject([{ input: { user: "ada", kind: "pause", choice: { queue: "default" } } }]);
});

it("makes a change and its entry in the log in one transaction", async () => {
  const { stateAdapter } = await openTwo();
  let isRefusing = true;
  const full: AnyStateAdapter = {
    ...stateAdapter,
    createJobs: async (call) => {
      if (isRefusing) throw new Error("The disk is full.");
      return stateAdapter.createJobs(call as never);
    },
  };
  const { act, read } = await openBeside(full);
  expect((await act("limits/pause", { queue: "default" })).status).toBe(500);
  expect((await read("limits")).body.rules).toEqual([]);
  isRefusing = false;
  expect((await act("recurring/none/pause")).status).toBe(404);
  expect((await read("actions")).body.actions).toMatchObject([
    { user: "ada", kind: "recurring_pause", plan: { id: "none" }, result: { state: "failed" } },
  ]);
});
