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
    const unconfirmed = await run("complete", blockerId, "--ends");
    expect(unconfirmed.code).toBe(6);
    expect(unconfirmed.stderr).not.toContain("--dry-run");
    const unknown = await run("complete", blockerId, "--output", '{"approved":true}', "--yes");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("--continue-with");
    expect((await leasehold.jobs.get({ id: blockerId }))?.status).toBe("pending");
    const done = await run("complete", blockerId, "--output", '{"approved":true}', "--ends", "--yes");
    expect(done).toMatchObject({ code: 0, stdout: `${blockerId}  completed\n` });
    expect(await leasehold.jobs.get({ id: blockerId })).toMatchObject({
      status: "completed",
      output: { approved: true },
      completedBy: null,
    });
    expect((await leasehold.jobs.get({ id }))?.status).toBe("pending");
    const again = await run("complete", blockerId, "--ends", "--yes");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("completed");
    expect((await run("complete", "nope", "--yes")).code).toBe(3);
  });

  it("continues a sequence with the next job, by the types of a config module or without", async () => {
    const { leasehold, folder } = store;
    const approval = () => leasehold.startJobSequence({ typeName: "approve", input: null });
    const { id } = await approval();
    const next = ["--continue-with", "publish", "--input", '{"post":1}'];
    expect((await run("complete", id, ...next, "--output", "1", "--yes")).code).toBe(2);
    expect((await run("complete", id, "--input", "1", "--ends", "--yes")).code).toBe(2);
    expect(await run("complete", id, ...next, "--yes")).toMatchObject({
      code: 0,
      stdout: `${id}  pending\n`,
    });
    const { jobs } = await leasehold.jobs.listInSequence({ id });
    expect(jobs).toMatchObject([
      { typeName: "approve", status: "completed" },
      { typeName: "publish", status: "pending", input: { post: 1 } },
    ]);
    folder.write(
      "leasehold.config.js",
      `import { defineJobTypes, typeOnly } from "leasehold";
      export default { jobTypes: defineJobTypes({
        approve: { continuesTo: ["publish"], workerless: true },
        publish: { input: typeOnly(), internal: true },
      }) };`,
    );
    const other = await approval();
    const ended = await run("complete", other.id, "--output", "{}", "--yes");
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('continueWith, to "publish"') });
    expect((await run("complete", other.id, "--continue-with", "mail", "--yes")).code).not.toBe(0);
    expect((await run("complete", other.id, ...next, "--yes")).code).toBe(0);
  });
});

describe("a changed input", () => {
  const inputs = async () =>
    (await store.leasehold.jobs.list({ order: "oldest" })).jobs.map(({ status, input }) => [status, input]);

  it("goes with a redrive: first for one job, then for the others", async () => {
    const { leasehold } = store;
    for (const to of ["a", "b", "c"])
      await leasehold.startJobSequence({ typeName: "mail", input: { to, host: "old", items: [{ n: 1 }] } });
    await failAll(store, "mail");
    const edit = ["failed", "redrive", "--type", "mail", "--set", 'host="new"', "--set", "items.0.n=2"];
    const planned = await run(...edit, "--dry-run");
    expect(planned.stdout).toBe("Would redrive 3 jobs with a changed input.\n");
    expect((await run(...edit, "--limit", "1", "--yes")).stdout).toContain("Redrove 1 job ");
    expect(await inputs()).toEqual([
      ["pending", { to: "a", host: "new", items: [{ n: 2 }] }],
      ["failed", { to: "b", host: "old", items: [{ n: 1 }] }],
      ["failed", { to: "c", host: "old", items: [{ n: 1 }] }],
    ]);
    expect(await json(...edit, "--unset", "items.0", "--yes")).toMatchObject({
      changed: [{}, {}],
      skipped: [],
    });
    expect((await inputs())[2]).toEqual(["pending", { to: "c", host: "new", items: [] }]);
    const [first] = (await leasehold.jobs.list({ order: "oldest" })).jobs;
    const nowhere = await run("waiting", "update", first!.id, "--set", "to.name=1", "--yes");
    expect(nowhere.stderr).toContain("no place in its input");
    await run("waiting", "update", first!.id, "--unset", "host", "--yes");
    expect((await inputs())[0]).toEqual(["pending", { to: "a", items: [{ n: 2 }] }]);
  });

  it.each([
    [["--set", "host"], "property and JSON"],
    [["--set", "host=new"], "must be JSON"],
    [["--input", "1", "--set", "a=1"], "replaces the whole input"],
    [["--set", "a=1", "--at", "10m"], "cannot be combined"],
  ])("is refused for %o", async (words, says) => {
    const refused = await run("failed", "redrive", "--all", ...words, "--yes");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(says)]);
  });
});

describe("recurring edit", () => {
  it("shows the next times, and changes what is named", async () => {
    const { leasehold } = store;
    const job = { typeName: "mail", input: { to: "ada" }, priority: 4 };
    await leasehold.recurring.put({ id: "nightly", cron: "30 2 * * *", timeZone: "Europe/Berlin", job });
    const planned = await run("recurring", "edit", "nightly", "--cron", "0 6 * * *", "--dry-run");
    expect(planned.code).toBe(0);
    expect(planned.stderr).toMatch(/Next: .*06:00/);
    expect((await leasehold.recurring.get({ id: "nightly" }))?.cron).toBe("30 2 * * *");
    const words = ["--cron", "0 6 * * *", "--overlap", "allow", "--input", '{"to":"bob"}'];
    expect((await run("recurring", "edit", "nightly", ...words)).code).toBe(6);
    expect((await run("recurring", "edit", "nightly", ...words, "--yes")).code).toBe(0);
    expect(await leasehold.recurring.get({ id: "nightly" })).toMatchObject({
      cron: "0 6 * * *",
      timeZone: "Europe/Berlin",
      overlap: "allow",
      job: { input: { to: "bob" }, priority: 4 },
    });
    expect((await run("recurring", "edit", "nightly", "--cron", "often", "--yes")).stderr).toContain("cron");
    expect((await run("recurring", "edit", "weekly", "--jitter", "5s", "--yes")).code).toBe(3);
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
    const changed = expect.arrayContaining(mails.map(({ id }) => ({ id, failedIds: [] })) as never[]);
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
    await run("complete", blockerId, "--ends", "--yes");
    await run("complete", id, "--ends", "--yes");
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
