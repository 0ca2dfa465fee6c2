import { expect, it } from "vitest";
import { rights } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";

it("lists jobs by filter, page by page", async () => {
  const { leasehold, read } = await openShop(["read", "payloads"]);
  for (const item of ["tea", "coffee", "milk"])
    await leasehold.startJobSequence({ typeName: "order", input: { item } });
  await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" }, queue: "post" });
  expect((await read("jobs")).body.jobs).toHaveLength(4);
  expect((await read("jobs?queue=post&typeName=mail&status=pending")).body.jobs).toMatchObject([
    { queue: "post" },
  ]);
  const first = (await read("jobs?typeName=order&limit=2&order=oldest")).body;
  const second = (
    await read(`jobs?typeName=order&limit=2&order=oldest&cursor=${encodeURIComponent(first.cursor)}`)
  ).body;
  expect(first.jobs).toHaveLength(2);
  expect(second.jobs).toHaveLength(1);
  expect(new Set([...first.jobs, ...second.jobs].map(({ id }: { id: string }) => id)).size).toBe(3);
});

it("tells jobs that can run from those for later, whenever it is asked", async () => {
  const { leasehold, read } = await openShop(["read", "payloads"]);
  const start = (afterMs: number) =>
    leasehold.startJobSequence({ typeName: "order", input: { item: "tea" }, schedule: { afterMs } });
  const [due, soon, later] = [await start(0), await start(300), await start(60_000)];
  const ids = async (query: string): Promise<string[]> =>
    (await read(`jobs?status=pending&order=oldest&${query}`)).body.jobs.map(({ id }: { id: string }) => id);
  expect(await ids("due=later")).toContain(later.id);
  expect(await ids("due=now")).toContain(due.id);
  await expect.poll(() => ids("due=now")).toEqual([due.id, soon.id]);
  expect(await ids("due=later")).toEqual([later.id]);
  expect((await read("jobs?due=soon")).status).toBe(400);
});

it("shows one job, why it waits, and what can be done", async () => {
  const { leasehold, read } = await openShop(["read", "payloads"]);
  const { id } = await leasehold.startJobSequence({
    typeName: "order",
    input: { item: "tea", password: "hunter2" },
    schedule: { afterMs: 60_000 },
  });
  const { body } = await read(`jobs/${id}`);
  expect(body).toMatchObject({
    job: { id, status: "pending", input: { item: "tea", password: { $hidden: "text of 7 characters" } } },
    explanation: { state: "scheduled" },
    actions: ["run_now", "reschedule", "cancel"],
    sequence: [{ id }],
  });
  expect((await read("jobs/nothing")).status).toBe(404);
});

it("shows nothing of payloads to those who may not see them", async () => {
  const { leasehold, ask, startWorker } = await openShop(["read"]);
  await leasehold.startJobSequence({
    typeName: "order",
    input: { item: "broken" },
    deduplication: { key: "secret-key" },
  });
  const worker = await startWorker();
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  await worker.stop();
  const [job] = (await leasehold.jobs.list()).jobs;
  for (const path of ["jobs", `jobs/${job!.id}`, `trees/${job!.id}`]) {
    const { status, body } = await ask(`api/v1/${path}`);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toMatch(/broken|out of stock|secret-key/);
  }
});

it("foresees what a redrive would do, does it, and writes down who did", async () => {
  const { leasehold, read, act, startWorker } = await openShop(rights);
  await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  const worker = await startWorker();
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  await worker.stop();
  const filter = { typeName: ["order"] };
  const plan = (await act("plans/redrive", { filter })).body;
  expect(plan.preview).toMatchObject({ changed: 1, skipped: 0, isExact: true });
  expect(await leasehold.jobs.count({ status: "failed" })).toHaveLength(1);
  const { id } = (await act("plans/redrive/run", { filter, before: plan.before })).body;
  await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("done");
  expect((await read(`actions/${id}`)).body).toMatchObject({
    user: "grace",
    kind: "redrive",
    result: { changed: 1, skipped: 0 },
  });
  expect(await leasehold.jobs.count()).toMatchObject([{ status: "pending", count: 1 }]);
  expect((await read("actions")).body.actions).toHaveLength(1);
});

it("leaves alone what failed after the plan was made", async () => {
  const { leasehold, read, act, startWorker } = await openShop(rights);
  const worker = await startWorker();
  await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toMatchObject([{ count: 1 }]);
  const { before } = (await act("plans/redrive", { filter: {} })).body;
  await expect.poll(async () => (await leasehold.getTime()).toISOString() > before).toBe(true);
  await leasehold.startJobSequence({ typeName: "order", input: { item: "broken" } });
  await expect.poll(() => leasehold.jobs.count({ status: "failed" })).toMatchObject([{ count: 2 }]);
  await worker.stop();
  const { id } = (await act("plans/redrive/run", { filter: {}, before })).body;
  await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("done");
  expect((await read(`actions/${id}`)).body.result.changed).toBe(1);
});

it("refuses a plan that is too old, or from the future", async () => {
  const { act } = await openShop(rights);
  for (const before of ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"]) {
    const { status, body } = await act("plans/redrive/run", { filter: {}, before });
    expect([status, body.error.code]).toEqual([409, "plan_expired"]);
  }
});

it("deletes only after the number was confirmed, and never a tree that is not finished", async () => {
  const { leasehold, read, act } = await openShop(rights);
  const done = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  await leasehold.jobs.cancel({ ids: [done.id] });
  await leasehold.startJobSequence({ typeName: "order", input: { item: "milk" } });
  const plan = (await act("plans/delete", { filter: {} })).body;
  expect(plan).toMatchObject({ needsConfirmation: true, unit: "trees", preview: { changed: 1 } });
  const choice = { filter: {}, before: plan.before };
  expect((await act("plans/delete/run", choice)).status).toBe(409);
  expect((await act("plans/delete/run", { ...choice, confirm: 2 })).status).toBe(409);
  const { id } = (await act("plans/delete/run", { ...choice, confirm: 1 })).body;
  await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("done");
  expect((await leasehold.jobs.list()).jobs).toMatchObject([{ input: { item: "milk" } }]);
});

it("reschedules one job or many, to a time or by a delay", async () => {
  const { leasehold, read, act } = await openShop(["read", "update"]);
  const [one, two] = await Promise.all(
    ["tea", "milk"].map((item) => leasehold.startJobSequence({ typeName: "order", input: { item } })),
  );
  const at = "2040-01-01T00:00:00.000Z";
  const reschedule = async (choice: object): Promise<void> => {
    const plan = (await act("plans/reschedule", choice)).body;
    expect(plan.preview).toMatchObject({ changed: "ids" in choice ? 1 : 2, skipped: 0 });
    const { id } = (await act("plans/reschedule/run", { ...choice, before: plan.before })).body;
    await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("done");
  };
  const dueAt = async ({ id }: { readonly id: string }): Promise<Date | undefined> =>
    (await leasehold.jobs.get({ id }))?.scheduledAt;
  await reschedule({ ids: [one!.id], schedule: { at } });
  expect(await dueAt(one!)).toEqual(new Date(at));
  expect((await dueAt(two!))!.getTime()).toBeLessThanOrEqual(Date.now());
  await expect.poll(() => Date.now()).toBeGreaterThan((await dueAt(two!))!.getTime());
  await reschedule({ filter: { typeName: ["order"] }, schedule: { afterMs: 3_600_000 } });
  for (const job of [one!, two!])
    expect(Math.abs((await dueAt(job))!.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000);
});

it.each([
  [{}, '"schedule" is missing.'],
  [{ schedule: {} }, 'Either "schedule.at" or "schedule.afterMs" is needed.'],
  [{ schedule: { at: "2040-01-01T00:00:00Z", afterMs: 0 } }, 'Either "schedule.at"'],
  [{ schedule: { at: "tomorrow" } }, '"at" must be a time'],
  [{ schedule: { afterMs: -1 } }, '"afterMs" must be a whole number'],
])("refuses to reschedule by %o", async (choice, message) => {
  const { act } = await openShop(rights);
  const { status, body } = await act("plans/reschedule", { ids: ["job"], ...choice });
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(message)]);
});

it("resumes rescheduling to the time that was chosen at first", async () => {
  const { leasehold, read, act } = await openShop(rights);
  const at = "2040-01-01T00:00:00.000Z";
  for (const item of ["tea", "milk"])
    await leasehold.startJobSequence({ typeName: "order", input: { item } });
  const choice = { ids: (await leasehold.jobs.list()).jobs.map(({ id }) => id), schedule: { at } };
  const { before } = (await act("plans/reschedule", choice)).body;
  const { id } = (await act("plans/reschedule/run", { ...choice, before, pace: 1 })).body;
  await act(`plans/reschedule/stop/${id}`);
  await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("stopped");
  expect((await act(`plans/reschedule/resume/${id}`)).status).toBe(200);
  await expect.poll(async () => (await read(`actions/${id}`)).body.result?.state).toBe("done");
  for (const job of (await leasehold.jobs.list()).jobs) expect(job.scheduledAt).toEqual(new Date(at));
});

it("offers only actions that change something", async () => {
  const { leasehold, read } = await openShop(rights);
  const actionsOf = async ({ id }: { readonly id: string }) => {
    const { body } = await read(`jobs/${id}`);
    return [body.explanation.state, ...body.actions];
  };
  const later = { schedule: { afterMs: 3_600_000 } };
  const mail = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" }, ...later });
  expect(await actionsOf(mail)).toEqual(["scheduled", "run_now", "reschedule", "cancel"]);
  const reminder = await leasehold.startJobSequence({
    typeName: "reminder",
    input: null,
    startBlockers: () => [mail],
  });
  expect(await actionsOf(reminder)).toEqual(["blocked", "cancel"]);
  const order = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  expect(await actionsOf(order)).toEqual(["runnable", "reschedule", "cancel"]);
  await leasehold.limits.pause({ queue: "default" });
  expect(await actionsOf(order)).toEqual(["throttled", "reschedule", "cancel"]);
});
