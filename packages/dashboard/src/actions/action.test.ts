import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rights } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";
import { inProcess, postgres, sqlite } from "../testing/stores.ts";

describe.each([inProcess(), sqlite(), postgres()])("plans over $name", (store) => {
  // The first store of a server starts it.
  beforeAll(async () => (await store.open()).close(), 120_000);
  afterAll(() => store.end());

  const open = async () => {
    const { stateAdapter, close } = await store.open();
    const shop = await openShop(rights, {}, stateAdapter);
    const statusOf = async (id: string) => (await shop.leasehold.jobs.get({ id }))?.status;
    /** Does what a plan says, and waits for the end. */
    const run = async (kind: string, choice: object) => {
      const plan = (await shop.act(`plans/${kind}`, choice)).body;
      const { before, preview } = plan;
      const { id } = (await shop.act(`plans/${kind}/run`, { ...choice, before, expected: preview.total }))
        .body;
      const result = async () => (await shop.read(`actions/${id}`)).body.result;
      await expect.poll(async () => (await result()).state, { timeout: 20_000 }).toBe("done");
      return { plan, result: await result() };
    };
    const end = async () => {
      await shop.dashboard.close();
      await close();
    };
    return { ...shop, stateAdapter, statusOf, run, end };
  };

  it("cancel what waits and leave what runs", async () => {
    const { leasehold, act, run, statusOf, end } = await open();
    let begin: (id: string) => void = () => undefined;
    const started = new Promise<string>((resolve) => {
      begin = resolve;
    });
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "order",
        process: async ({ job }) => {
          begin(job.id);
          await finished;
          return "ordered";
        },
      })
      .start({ concurrency: 1, pollIntervalMs: 10 });
    for (const item of ["tea", "milk", "rice"])
      await leasehold.startJobSequence({ typeName: "order", input: { item } });
    const running = await started;
    const choice = { filter: { typeName: ["order"] }, status: ["pending", "blocked"] };
    const { plan } = await run("cancel", choice);
    expect(plan.preview.changed).toBe(2);
    expect(plan.command).toBe("leasehold cancel --status pending --status blocked --type order --dry-run");
    expect(await statusOf(running)).toBe("running");
    expect((await leasehold.jobs.list({ status: "failed" })).jobs).toHaveLength(2);
    const named = await act("plans/cancel", { ids: [running], status: ["pending"] });
    expect(named.body.preview).toMatchObject({ changed: 0, reasons: { is_running: 1 } });
    finish();
    await worker.stop();
    await end();
  });

  it("say what a cancellation touches beyond the chosen jobs", async () => {
    const { leasehold, act, run, startWorker, statusOf, end } = await open();
    const mail = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
    const [reminder] = await leasehold.startJobSequences({
      sequences: [{ typeName: "reminder", input: null, startBlockers: () => [mail] }],
    });
    const { body } = await act("plans/cancel", { ids: [mail.id] });
    expect(body.preview).toMatchObject({ changed: 1, failed: 1, goesOn: 0, total: 1, isExact: true });
    expect(await statusOf(reminder!.id)).toBe("blocked");
    const both = await act("plans/cancel", { ids: [mail.id, reminder!.id] });
    expect(both.body.preview).toMatchObject({ changed: expect.any(Number), skipped: 0 });
    await run("cancel", { ids: [mail.id] });
    expect(await statusOf(reminder!.id)).toBe("failed");

    await leasehold.limits.pause({ typeName: "mail" });
    const campaign = await leasehold.startJobSequence({ typeName: "campaign", input: { mails: 3 } });
    const worker = await startWorker();
    await leasehold.waitForJobSequenceCompletion({ id: campaign.id, typeName: "campaign" });
    await worker.stop();
    const { jobs } = await leasehold.jobs.list({ rootSequenceId: campaign.id, typeName: "mail" });
    const alone = await act("plans/cancel", { ids: [jobs[0]!.id] });
    expect(alone.body.preview).toMatchObject({ changed: 1, failed: 0, goesOn: 2 });
    await end();
  });

  it("count all jobs where there are too many to look at", async () => {
    const { leasehold, act, run, end } = await open();
    const sequences = Array.from({ length: 2_100 }, () => ({
      typeName: "mail" as const,
      input: { to: "ada" },
      schedule: { afterMs: 3_600_000 },
    }));
    await leasehold.startJobSequences({ sequences: sequences.slice(0, 1_050) });
    await leasehold.startJobSequences({ sequences: sequences.slice(1_050) });
    const choice = { filter: { typeName: ["mail"] } };
    const { body } = await act("plans/run_now", choice);
    expect(body.preview).toMatchObject({ isExact: false, total: 2_100 });
    const { result } = await run("run_now", choice);
    expect(result).toMatchObject({ changed: 2_100, expected: 2_100 });
    await end();
  });

  it("refuse a status that the action cannot change", async () => {
    const { act, end } = await open();
    const filter = { queue: ["default"] };
    expect((await act("plans/cancel", { filter, status: ["completed"] })).status).toBe(400);
    expect((await act("plans/redrive", { filter, status: ["pending"] })).status).toBe(400);
    expect((await act("plans/redrive", { ids: ["1"], status: ["failed"] })).status).toBe(400);
    expect((await act("plans/redrive", { filter, withChildren: true })).status).toBe(400);
    await end();
  });

  it("cancel a tree with the children of a job that has finished", async () => {
    const { leasehold, run, startWorker, act, end } = await open();
    await leasehold.limits.pause({ typeName: "mail" });
    const { id } = await leasehold.startJobSequence({ typeName: "campaign", input: { mails: 3 } });
    const worker = await startWorker();
    await leasehold.waitForJobSequenceCompletion({ id, typeName: "campaign" });
    await worker.stop();
    const alone = await act("plans/cancel", { filter: { rootSequenceId: id }, status: ["running"] });
    expect(alone.body.preview.changed).toBe(0);
    const { plan, result } = await run("cancel", { filter: { rootSequenceId: id }, withChildren: true });
    expect(plan.preview.changed).toBe(3);
    expect(plan.command).toBe(`leasehold cancel --with-children --root ${id} --dry-run`);
    expect(result.changed).toBe(3);
    const failed = await leasehold.jobs.list({ rootSequenceId: id, status: "failed" });
    expect(failed.jobs).toHaveLength(3);
    const redriven = await run("redrive", { filter: { rootSequenceId: id } });
    expect(redriven.result.changed).toBe(3);
    await end();
  });
});
