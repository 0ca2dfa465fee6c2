import { createLeasehold, defineJobTypes, shortId, UnrecoverableJobError } from "leasehold";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createDashboard } from "../create-dashboard.ts";
import { type Right, rights } from "../http/rights.ts";
import { clientOf, openShop } from "../testing/open-shop.ts";
import { inProcess, postgres, sqlite } from "../testing/stores.ts";

const jobTypes = defineJobTypes({
  approve: {
    input: z.object({ post: z.string() }),
    output: z.object({ reason: z.string() }),
    continuesTo: ["publish"],
    workerless: true,
  },
  publish: { input: z.object({ url: z.url() }), output: z.null(), internal: true },
  mail: { input: z.object({ to: z.email(), apiKey: z.string() }), output: z.null() },
});

describe.each([inProcess(), sqlite(), postgres()])("the work of an operator over $name", (store) => {
  // The first store of a server starts it.
  beforeAll(async () => (await store.open()).close(), 120_000);
  afterAll(() => store.end());

  const open = async (can: readonly Right[] = rights) => {
    const { stateAdapter, close } = await store.open();
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    const authorize = () => ({ user: "grace", can });
    const dashboard = createDashboard({ leasehold, stateAdapter, authorize });
    const end = async () => {
      await dashboard.close();
      await leasehold.close();
      await close();
    };
    const client = clientOf(dashboard, "");
    const latestAction = async () => (await client.read("actions")).body.actions[0];
    /** Jobs that fail for their address. */
    const failMails = async (count: number) => {
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1)
        ids.push(
          (
            await leasehold.startJobSequence({
              typeName: "mail",
              input: { to: `user${index}@old.example`, apiKey: `sk-${index}` },
            })
          ).id,
        );
      const worker = await leasehold
        .createWorker()
        .implementJobType({
          typeName: "mail",
          process: async () => {
            throw new UnrecoverableJobError("no such host");
          },
        })
        .start({ pollIntervalMs: 10 });
      await expect
        .poll(async () => (await leasehold.jobs.list({ status: "failed" })).jobs, { timeout: 20_000 })
        .toHaveLength(count);
      await worker.stop();
      return ids;
    };
    return { leasehold, end, latestAction, failMails, ...client };
  };

  it("completes an approval with an output", async () => {
    const { leasehold, act, read, latestAction, end } = await open();
    const { id } = await leasehold.startJobSequence({ typeName: "approve", input: { post: "p1" } });
    expect((await read(`jobs/${id}`)).body.offers).toEqual(["complete", "edit"]);
    const wrong = await act(`jobs/${id}/complete`, { output: { reason: 5 } });
    expect([wrong.status, wrong.body.error.code]).toEqual([400, "SchemaValidation"]);
    expect((await act(`jobs/${id}/complete`, {})).status).toBe(400);
    const done = await act(`jobs/${id}/complete`, { output: { reason: "sk-secret" }, note: "seen by two" });
    expect([done.status, done.body]).toEqual([200, { id, continuedToId: null }]);
    expect(await leasehold.jobs.get({ id })).toMatchObject({
      status: "completed",
      output: { reason: "sk-secret" },
    });
    const logged = await latestAction();
    expect(logged).toMatchObject({
      user: "grace",
      kind: "complete",
      plan: { id, typeName: "approve", note: "seen by two" },
      result: { state: "done" },
    });
    expect(JSON.stringify(logged)).not.toContain("sk-secret");
    const again = await act(`jobs/${id}/complete`, { output: { reason: "x" } });
    expect([again.status, again.body.error.code]).toEqual([409, "wrong_status"]);
    await end();
  });

  it("continues the sequence of an approval, and only with a type that may follow", async () => {
    const { leasehold, act, latestAction, end } = await open();
    const { id } = await leasehold.startJobSequence({ typeName: "approve", input: { post: "p1" } });
    const other = await act(`jobs/${id}/complete`, { continueWith: { typeName: "mail", input: {} } });
    expect([other.status, other.body.error.message]).toEqual([
      400,
      expect.stringContaining('a continuation of "approve"'),
    ]);
    expect(await latestAction()).toMatchObject({ kind: "complete", result: { state: "failed" } });
    const continueWith = { typeName: "publish", input: { url: "https://example.com/p1" } };
    const done = await act(`jobs/${id}/complete`, { continueWith });
    expect(done.status).toBe(200);
    expect(await leasehold.jobs.get({ id: done.body.continuedToId })).toMatchObject({
      typeName: "publish",
      status: "pending",
      sequenceId: id,
      input: { url: "https://example.com/p1" },
    });
    expect((await latestAction()).plan).toMatchObject({ id, continueWith: "publish" });
    await end();
  });

  it("does not end a sequence whose types it does not know, unless it is told to", async () => {
    const { stateAdapter, close } = await store.open();
    const { leasehold, act, dashboard } = await openShop(rights, {}, stateAdapter);
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
    const refused = await act(`jobs/${id}/complete`, { output: null });
    expect([refused.status, refused.body.error.code]).toEqual([409, "continuations_unknown"]);
    expect((await leasehold.jobs.get({ id }))?.status).toBe("pending");
    expect((await act(`jobs/${id}/complete`, { output: null, endsSequence: true })).status).toBe(200);
    expect((await leasehold.jobs.get({ id }))?.status).toBe("completed");
    await dashboard.close();
    await close();
  });

  it("runs a failed job again with an edited input, and keeps what was hidden", async () => {
    const { leasehold, act, read, latestAction, failMails, end } = await open();
    const [id] = await failMails(1);
    const { input } = (await read(`jobs/${id}`)).body.job;
    expect(input.apiKey).toEqual({ $hidden: "text of 4 characters" });
    const refused = await act(`jobs/${id}/edit`, { input: { ...input, to: "nobody" } });
    expect([refused.status, refused.body.error.code]).toEqual([400, "SchemaValidation"]);
    const moved = await act(`jobs/${id}/edit`, { input: { to: input.apiKey, apiKey: "sk-9" } });
    expect([moved.status, moved.body.error.message]).toEqual([400, expect.stringContaining("input.to")]);
    expect((await leasehold.jobs.get({ id: id! }))?.status).toBe("failed");
    const edited = await act(`jobs/${id}/edit`, { input: { ...input, to: "user0@new.example" } });
    expect([edited.status, edited.body]).toEqual([200, { id, isRedriven: true }]);
    expect(await leasehold.jobs.get({ id: id! })).toMatchObject({
      status: "pending",
      input: { to: "user0@new.example", apiKey: "sk-0" },
    });
    expect((await latestAction()).plan).toEqual({ id, typeName: "mail" });
    // Now it waits, and can be edited without a redrive.
    const again = await act(`jobs/${id}/edit`, { input: { to: "x@new.example", apiKey: "sk-1" } });
    expect(again.body.isRedriven).toBe(false);
    await end();
  });

  it("makes the same change for the others of the cause, first as a dry run", async () => {
    const { leasehold, act, read, failMails, end } = await open();
    await failMails(3);
    const fingerprint = (await read("causes")).body.causes[0].fingerprint;
    const choice = {
      filter: { fingerprint: [fingerprint], typeName: ["mail"] },
      changes: [{ path: ["to"], value: "all@new.example" }],
    };
    const wrong = { ...choice, changes: [{ path: ["to"], value: "nobody" }] };
    expect((await act("plans/edit", wrong)).body.preview).toMatchObject({
      changed: 0,
      reasons: { invalid_input: 3 },
    });
    const elsewhere = { ...choice, changes: [{ path: ["to", "name"], value: "x" }] };
    expect((await act("plans/edit", elsewhere)).body.preview.reasons).toEqual({ other_input: 3 });
    const { before, preview, command } = (await act("plans/edit", choice)).body;
    expect(preview).toMatchObject({ changed: 3, skipped: 0 });
    expect(command).toBe(
      `leasehold failed redrive --set 'to="all@new.example"' --type mail --cause ${fingerprint} --dry-run`,
    );
    expect((await leasehold.jobs.list({ status: "failed" })).jobs).toHaveLength(3);
    const { id } = (await act("plans/edit/run", { ...choice, before })).body;
    await expect
      .poll(async () => (await read(`actions/${id}`)).body.result.state, { timeout: 20_000 })
      .toBe("done");
    const { jobs } = await leasehold.jobs.list({ status: "pending", typeName: "mail", order: "oldest" });
    expect(jobs.map(({ input }) => input)).toEqual(
      [0, 1, 2].map((index) => ({ to: "all@new.example", apiKey: `sk-${index}` })),
    );
    const logged = (await read(`actions/${id}`)).body;
    expect(logged.plan).toMatchObject({ changedValues: 1 });
    expect(JSON.stringify(logged)).not.toContain("all@new.example");
    await end();
  });

  it("starts a job, and logs its id without its input", async () => {
    const { leasehold, act, latestAction, end } = await open();
    const input = { to: "ada@example.com", apiKey: "sk-secret" };
    const started = await act("start", { typeName: "mail", input, priority: 3, key: "welcome" });
    expect(started.body).toMatchObject({ deduplicated: false });
    const { id } = started.body;
    expect(await leasehold.jobs.get({ id })).toMatchObject({ typeName: "mail", priority: 3, input });
    const logged = await latestAction();
    expect(logged).toMatchObject({ kind: "start", plan: { typeName: "mail", id } });
    expect(JSON.stringify(logged)).not.toContain("sk-secret");
    expect((await act("start", { typeName: "publish", input: {} })).status).toBe(409);
    expect((await act("start", { typeName: "mail", input: { to: "x" } })).status).toBe(400);
    await end();
  });

  it("changes a recurring job, and shows its times before", async () => {
    const { leasehold, act, read, latestAction, end } = await open();
    await leasehold.recurring.put({
      id: "nightly",
      cron: "30 2 * * *",
      timeZone: "Europe/Berlin",
      job: { typeName: "mail", input: { to: "ada@example.com", apiKey: "sk-0" }, priority: 7 },
    });
    const times = await read("recurring-times?cron=0+6+*+*+*&timeZone=Asia/Tokyo");
    expect(times.body.times).toHaveLength(5);
    expect(times.body.times[0].local).toContain("06:00");
    const unknown = await read("recurring-times?cron=0+6+*+*+*+*+*");
    expect([unknown.status, unknown.body.error.message]).toEqual([400, expect.stringContaining("cron")]);
    const [shown] = (await read("recurring")).body.recurringJobs;
    const change = { cron: "0 6 * * *", overlap: "allow", expectedVersion: shown.version };
    const input = { ...shown.job.input, to: "bob@example.com" };
    const changed = await act("recurring/nightly/update", { ...change, input });
    expect([changed.status, changed.body]).toEqual([200, { id: "nightly", version: 2, paused: false }]);
    expect(await leasehold.recurring.get({ id: "nightly" })).toMatchObject({
      cron: "0 6 * * *",
      timeZone: "Europe/Berlin",
      overlap: "allow",
      job: { input: { to: "bob@example.com", apiKey: "sk-0" }, priority: 7 },
    });
    const logged = await latestAction();
    expect(logged).toMatchObject({
      kind: "recurring_update",
      plan: { id: "nightly", cron: "0 6 * * *", changesInput: true },
    });
    expect(JSON.stringify(logged)).not.toMatch(/bob@example.com|sk-0/);
    expect((await act("recurring/nightly/update", change)).body.error.code).toBe("VersionMismatch");
    await end();
  });

  it("needs the rights to do so", async () => {
    const { leasehold, act, end } = await open(["read", "update"]);
    expect((await act("jobs/1/complete", { output: null })).status).toBe(403);
    expect((await act("start", { typeName: "mail" })).status).toBe(403);
    expect((await act("recurring/nightly/update", { expectedVersion: 1 })).status).toBe(403);
    const { id } = await leasehold.startJobSequence({ typeName: "approve", input: { post: "p1" } });
    expect((await act(`jobs/${id}/edit`, { input: {} })).body.error.message).toContain("payloads");
    const plan = { filter: {}, changes: [{ path: ["to"], value: "x" }] };
    expect((await act("plans/edit", plan)).body.error.message).toContain("redrive");
    await end();
  });
});

it("opens a job by the short form of its id", async () => {
  const { leasehold, read } = await openShop(["read"]);
  const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
  expect((await read(`jobs/${encodeURIComponent(shortId(id))}`)).body.job.id).toBe(id);
  for (const twin of ["a-long-beginning-1-end-of-it", "a-long-beginning-2-end-of-it"])
    await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" }, id: twin });
  const refused = await read(`jobs/${encodeURIComponent("a-long-beginn…-of-it")}`);
  expect([refused.status, refused.body.error.code]).toEqual([409, "ambiguous_id"]);
});
