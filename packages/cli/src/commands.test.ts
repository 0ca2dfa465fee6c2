import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failAll } from "./testing/fail-all.ts";
import type { Result } from "./testing/run-cli.ts";
import { runMain } from "./testing/run-main.ts";
import { openTestStore, type TestStore } from "./testing/stores.ts";

let store: TestStore;

beforeEach(async () => {
  store = await openTestStore("sqlite");
});

afterEach(() => store.close());

const run = (...args: string[]): Promise<Result> =>
  runMain(args, { LEASEHOLD_STORE: "sqlite:./jobs.db" }, store.folder.path);

const json = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await run(...args, "--json")).stdout) as unknown;

const startBlocked = async (): Promise<{ readonly id: string; readonly blockerId: string }> => {
  const { leasehold } = store;
  let blockerId = "";
  const { id } = await leasehold.startJobSequence({
    typeName: "order",
    input: null,
    startBlockers: (async () => {
      const blocker = await leasehold.startJobSequence({ typeName: "payment", input: null });
      blockerId = blocker.id;
      return [blocker];
    }) as never,
  });
  return { id, blockerId };
};

describe("complete", () => {
  it("completes a job without a worker, and unblocks what waited for it", async () => {
    const { leasehold } = store;
    const { id, blockerId } = await startBlocked();
    const unconfirmed = await run("complete", blockerId);
    expect(unconfirmed.code).toBe(6);
    expect(unconfirmed.stderr).not.toContain("--dry-run");
    const done = await run("complete", blockerId, "--output", '{"approved":true}', "--yes");
    expect(done).toMatchObject({ code: 0, stdout: `${blockerId}  completed\n` });
    expect(await leasehold.jobs.get({ id: blockerId })).toMatchObject({
      status: "completed",
      output: { approved: true },
      completedBy: null,
    });
    expect((await leasehold.jobs.get({ id }))?.status).toBe("pending");
    const again = await run("complete", blockerId, "--yes");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("completed");
    expect((await run("complete", "nope", "--yes")).code).toBe(3);
  });
});

describe("list", () => {
  it("finds jobs by a text in their input", async () => {
    const { leasehold } = store;
    for (const to of ["ada@example.com", "bob@example.com"])
      await leasehold.startJobSequence({ typeName: "mail", input: { to } });
    const found = async (text: string): Promise<unknown> => json("list", "--input-contains", text);
    expect(await found("ada@")).toMatchObject({ jobs: [{ input: { to: "ada@example.com" } }], cursor: null });
    expect(await found("eve@")).toEqual({ jobs: [], cursor: null });
    expect((await run("list", "--input-contains", "")).code).toBe(2);
  });
});

describe("cancel", () => {
  it("cancels what a filter finds, and asks before", async () => {
    const { leasehold } = store;
    const mails = await Promise.all(
      ["one", "two"].map((queue) => leasehold.startJobSequence({ typeName: "mail", input: null, queue })),
    );
    const order = await leasehold.startJobSequence({ typeName: "order", input: null });
    const changed = expect.arrayContaining(mails.map(({ id }) => ({ id })) as never[]);
    expect(await json("cancel", "--type", "mail", "--dry-run")).toEqual({
      dryRun: true,
      changed,
      skipped: [],
    });
    expect((await run("cancel", "--type", "mail")).code).toBe(6);
    expect(await json("cancel", "--type", "mail", "--reason", "no stamps", "--yes")).toEqual({
      dryRun: false,
      changed,
      skipped: [],
    });
    expect(await leasehold.jobs.get({ id: mails[0]!.id })).toMatchObject({
      failure: { error: { message: "no stamps" } },
    });
    expect((await leasehold.jobs.get({ id: order.id }))?.status).toBe("pending");
    expect((await run("cancel")).code).toBe(2);
    expect((await run("cancel", order.id, "--all")).code).toBe(2);
  });
});

describe("delete", () => {
  it("deletes the finished jobs that a filter finds", async () => {
    const { leasehold } = store;
    const [kept, waiting, done] = await Promise.all(
      ["order", "mail", "mail"].map((typeName) => leasehold.startJobSequence({ typeName, input: null })),
    );
    await leasehold.jobs.cancel({ ids: [kept!.id, done!.id] });
    expect(await json("delete", "--type", "mail", "--dry-run")).toMatchObject({
      changed: [{ id: done!.id, jobs: 1 }],
    });
    expect(await json("delete", "--type", "mail", "--yes")).toMatchObject({ deletedJobs: 1 });
    const left = (await leasehold.jobs.list()).jobs.map(({ id }) => id);
    expect(new Set(left)).toEqual(new Set([kept!.id, waiting!.id]));
    expect((await run("delete")).code).toBe(2);
  });

  it("deletes finished trees by the id of any of their jobs, and keeps others", async () => {
    const { leasehold } = store;
    const { id, blockerId } = await startBlocked();
    expect(await json("delete", id, "--yes")).toMatchObject({
      deletedJobs: 0,
      skipped: [{ id, reason: "unfinished" }],
    });
    await run("complete", blockerId, "--yes");
    await run("complete", id, "--yes");
    const plan = await run("delete", blockerId, "--dry-run");
    expect(plan.stdout).toBe(`${id}  2 jobs\nWould delete 2 jobs.\n`);
    expect((await run("delete", blockerId)).code).toBe(6);
    expect(await leasehold.jobs.get({ id })).toBeDefined();
    expect(await run("delete", blockerId, "nope", "--yes")).toMatchObject({
      code: 3,
      stdout: "Deleted 2 jobs.\n",
    });
    expect(await leasehold.jobs.count()).toEqual([]);
  });
});

describe("failed redrive", () => {
  it("counts a job once that was chosen and revived with another", async () => {
    const { leasehold } = store;
    const { id, blockerId } = await startBlocked();
    await failAll(store, "payment");
    const both = await run("failed", "redrive", "--all", "--dry-run");
    expect(both.stdout).toContain("Would redrive 2 jobs.\n");
    for (const jobId of [id, blockerId]) expect(both.stdout).toContain(jobId);
    const one = await run("failed", "redrive", blockerId, "--dry-run");
    expect(one.stdout).toContain(
      "Would redrive 2 jobs: 1 that were chosen, and 1 that had failed because of them.",
    );
    expect(await json("failed", "redrive", "--all", "--yes")).toMatchObject({ jobs: 2, skipped: [] });
    expect(await leasehold.jobs.count({ status: "failed" })).toEqual([]);
  });

  it("lets jobs wait until the time it is given", async () => {
    const { leasehold, stateAdapter } = store;
    const { id } = await leasehold.startJobSequence({ typeName: "a", input: null });
    await leasehold.jobs.cancel({ ids: [id] });
    expect(await run("failed", "redrive", id, "--at", "2h", "--yes")).toMatchObject({ code: 0 });
    const job = await leasehold.jobs.get({ id });
    expect(job?.status).toBe("pending");
    expect(job?.scheduledAt.getTime()).toBeGreaterThan((await stateAdapter.getTime()) + 7_100_000);
    expect((await run("failed", "redrive", id, "--at", "soon", "--yes")).code).toBe(2);
  });

  it("stops at no number of its own", async () => {
    const { leasehold } = store;
    const count = 10_050;
    const started = await leasehold.startJobSequences({
      sequences: Array.from({ length: count }, () => ({ typeName: "a", input: null })),
    });
    const ids = started.map(({ id }) => id);
    for (const half of [ids.slice(0, 5_000), ids.slice(5_000)]) await leasehold.jobs.cancel({ ids: half });
    expect((await run("failed", "redrive", "--all", "--limit", "7", "--yes")).stdout).toBe(
      "Redrove 7 jobs.\n",
    );
    const dry = await run("failed", "redrive", "--all", "--dry-run");
    expect(dry.stdout).toContain("and 9,993 more jobs\nWould redrive 10,043 jobs.\n");
    expect((await run("failed", "redrive", "--all", "--yes")).stdout).toBe("Redrove 10,043 jobs.\n");
    expect(await leasehold.jobs.count({ status: "failed" })).toEqual([]);
  });
});

describe("start", () => {
  it("is also called enqueue, and warns of a type that nobody has used before", async () => {
    const first = await run("enqueue", "send-mail");
    expect(first.code).toBe(0);
    expect(first.stderr).toContain("warning This is the first job of type send-mail");
    const known = await run("start", "send-mail");
    expect(known.stderr).toBe("");
    const misspelt = await run("start", "sned-mail");
    expect(misspelt.code).toBe(0);
    expect(misspelt.stderr).toContain("Jobs of late were of send-mail.");
    expect(await json("start", "sned-mail")).toMatchObject({ isNewType: false });
  });

  it("does not warn of a type of the config module, and refuses an internal one", async () => {
    store.folder.write(
      "leasehold.config.mjs",
      `import { defineJobTypes, typeOnly } from "leasehold";
       export default { jobTypes: defineJobTypes({
         mail: { input: typeOnly(), output: typeOnly(), continuesTo: ["stamp"] },
         stamp: { input: typeOnly(), output: typeOnly(), internal: true },
       }) };`,
    );
    expect(await run("start", "mail")).toMatchObject({ code: 0, stderr: "" });
    const internal = await run("start", "stamp");
    expect(internal.code).toBe(2);
    expect(internal.stderr).toContain("internal");
    expect((await run("start", "parcel")).code).toBe(2);
  });
});

describe("inspect", () => {
  it("shows the deduplication key, and when an attempt failed last", async () => {
    const { leasehold } = store;
    const { id } = await leasehold.startJobSequence({
      typeName: "mail",
      input: null,
      deduplication: { key: "order-17" },
    });
    const worker = await leasehold
      .createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } })
      .implementJobType({
        typeName: "mail",
        process: async () => {
          throw new Error("no");
        },
      })
      .start();
    while ((await leasehold.jobs.get({ id }))?.lastError === null)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await worker.stop();
    const { stdout } = await run("inspect", id);
    expect(stdout).toMatch(/key +order-17/);
    expect(stdout).toContain("last attempt failed");
  });

  it("says once that a job may have been deleted", async () => {
    const { code, stderr } = await run("inspect", "nope");
    expect(code).toBe(3);
    expect(stderr.match(/deleted/g)).toHaveLength(1);
  });
});

describe("doctor", () => {
  it("does not miss a worker for a type that people complete", async () => {
    const { leasehold, folder } = store;
    await leasehold.startJobSequence({ typeName: "approval", input: null });
    const isMissed = async (): Promise<boolean> => {
      const { stdout, code } = await run("doctor", "--stalled-after", "1ms");
      expect(code).toBe(stdout.includes("✗") ? 5 : 0);
      return stdout.includes("type approval");
    };
    expect(await isMissed()).toBe(true);
    folder.write(
      "leasehold.config.mjs",
      `export default { jobTypes: { acceptsAnyName: false, definitions: new Map([["approval", { workerless: true }]]) } };`,
    );
    expect(await isMissed()).toBe(false);
  });
});
