import { requirePart } from "leasehold/adapter";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failAll } from "./fail-all.ts";
import { openTestStore, type StoreKind, type TestStore } from "./stores.ts";

export const workerModule = `
import { setTimeout as sleep } from "node:timers/promises";
import { defineWorker } from "@leasehold/cli";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

interface Types { greet: { input: string; output: string }; slow: { input: null; output: null } }

export default defineWorker(async (context) => {
  const leasehold = await createLeasehold({ ...context, jobTypes: defineUnionJobTypes<Types>() });
  return leasehold
    .createWorker()
    .implementJobType({ typeName: "greet", process: async ({ job }) => "Hello, " + job.input + "!" })
    .implementJobType({
      typeName: "slow",
      process: async () => {
        console.error("slow has begun");
        await sleep(300);
        return null;
      },
    });
});
`;

export interface CommandSuiteOptions {
  readonly without?: {
    /** Why it has no limits. */
    readonly limits: string;
    /** Why it keeps no attempts. */
    readonly history: string;
  };
}

const unregistered = (() => {}) as unknown as typeof it;

/** Registers a test only where the condition holds. */
const itIf = (condition: boolean): typeof it => (condition ? it : unregistered);

/** What the command does on every kind of store. */
export const describeCommands = (kind: StoreKind, { without }: CommandSuiteOptions = {}): void => {
  const hasLimits = without?.limits === undefined;
  const hasHistory = without?.history === undefined;
  describe(`the command on ${kind}`, () => {
    let store: TestStore;
    beforeEach(async () => {
      store = await openTestStore(kind);
    }, 30_000);
    afterEach(() => store.close());

    it("starts, lists, inspects and cancels", async () => {
      const { folder, json } = store;
      const started = await folder.run(
        "start",
        "mail",
        "--input",
        '{"to":"ada"}',
        "--queue",
        "post",
        "--at",
        "1h",
      );
      expect(started.code).toBe(0);
      const id = started.stdout.trim();

      const listed = await json("list", "--queue", "post");
      expect(listed.value).toMatchObject({
        cursor: null,
        jobs: [{ id, typeName: "mail", status: "pending", input: { to: "ada" } }],
      });

      const inspected = await json("inspect", id);
      expect(inspected.value).toMatchObject({ job: { id }, explanation: { state: "scheduled" } });
      const shown = await folder.run("inspect", id);
      expect(shown.stdout).toContain("It is scheduled for");
      expect(shown.stdout).toContain('"to": "ada"');

      const foreseen = await json("cancel", id, "--dry-run");
      expect(foreseen).toEqual({
        code: 0,
        value: { dryRun: true, changed: [{ id, failedIds: [] }], skipped: [] },
      });
      expect((await folder.run("inspect", id)).stdout).toContain("It is scheduled for");
      const cancelled = await json("cancel", id, "--reason", "changed my mind", "--yes");
      expect(cancelled).toEqual({
        code: 0,
        value: { dryRun: false, changed: [{ id, failedIds: [] }], skipped: [] },
      });
      const after = await folder.run("inspect", id);
      expect(after.stdout).toContain("failed: cancelled");
      expect(after.stdout).toContain("changed my mind");
    });

    it("cancels what a job has started with --with-children", async () => {
      const { leasehold, json } = store;
      const { id } = await leasehold.startJobSequence({ typeName: "agent" });
      const worker = await leasehold
        .createWorker()
        .implementJobType({
          typeName: "agent",
          process: async () => {
            const sequences = [1, 2].map(() => ({ typeName: "tool", schedule: { afterMs: 3_600_000 } }));
            await leasehold.startJobSequences({ sequences });
          },
        })
        .start({ pollIntervalMs: 10 });
      await leasehold.waitForJobSequenceCompletion({ id, typeName: "agent", timeoutMs: 20_000 });
      await worker.stop();
      const { jobs } = await leasehold.jobs.list({ typeName: "tool", order: "oldest" });
      const tools = jobs.map((job) => ({ id: job.id, failedIds: [] }));
      expect(tools).toHaveLength(2);
      const skipped = [{ id, reason: "already_completed" }];

      expect((await json("cancel", id, "--yes")).value).toEqual({ dryRun: false, changed: [], skipped });
      expect((await json("cancel", id, "--with-children", "--dry-run")).value).toEqual({
        dryRun: true,
        changed: tools,
        skipped,
      });
      expect((await json("cancel", id, "--with-children", "--yes")).value.changed).toEqual(tools);
      expect(await leasehold.jobs.count({ typeName: "tool", status: "failed" })).toMatchObject([
        { count: 2 },
      ]);
    });

    it("finds jobs by their deduplication key, commas and all", async () => {
      const { leasehold, json } = store;
      const sequences = ["a,b", "a", "c"].map((key) => ({
        typeName: "mail",
        input: key,
        deduplication: { key },
      }));
      await leasehold.startJobSequences({ sequences });
      const inputs = async (...options: string[]): Promise<unknown[]> =>
        (await json("list", "--order", "oldest", ...options)).value.jobs.map(
          ({ input }: { input: unknown }) => input,
        );
      expect(await inputs("--key", "a,b")).toEqual(["a,b"]);
      expect(await inputs("--key", "a", "--key", "c", "--sequence-type", "mail")).toEqual(["a", "c"]);
      expect(await inputs("--key", "a", "--sequence-type", "other")).toEqual([]);
    });

    it("lists sequences, each with the job it has come to", async () => {
      const { folder, leasehold, json } = store;
      const cancelled = await leasehold.startJobSequence({ typeName: "mail" });
      await leasehold.jobs.cancel({ ids: [cancelled.id], reason: "not needed" });
      const open = await leasehold.startJobSequence({ typeName: "order" });
      const current = await leasehold.completeJobSequence({
        id: open.id,
        typeName: "order",
        complete: ({ job, complete }) =>
          complete(job, (tools) =>
            // Which types a job may continue to is not known here.
            (tools as { continueWith(options: object): unknown }).continueWith({ typeName: "ship" }),
          ),
      });
      const ids = async (...options: string[]): Promise<unknown[]> =>
        (await json("sequences", ...options)).value.sequences.map(({ id }: { id: unknown }) => id);
      expect(await ids()).toEqual([open.id, cancelled.id]);
      expect(await ids("--status", "failed", "--roots-only")).toEqual([cancelled.id]);
      expect(await ids("--type", "order", "--root", open.id)).toEqual([open.id]);
      const shown = await folder.run("sequences");
      expect(shown.stdout).toMatch(new RegExp(`${open.id} +order +pending +${current.currentTypeName}`));
      expect(shown.stdout).toContain("not needed (cancelled)");
      expect((await folder.run("sequences", "--created-before", "2h")).stderr).toContain("No sequences.");
    });

    /** The id of a job that failed once, and then completed. */
    const runTwice = async ({ leasehold }: TestStore): Promise<string> => {
      const { id } = await leasehold.startJobSequence({ typeName: "flaky", input: null });
      const worker = await leasehold
        .createWorker({ retry: { type: "fixed", delayMs: 0 } })
        .implementJobType({
          typeName: "flaky",
          process: async ({ job, log }) => {
            log("tried", { attempt: job.attempt });
            if (job.attempt === 1) throw new RangeError("no\nluck");
            return null;
          },
        })
        .start({ workerId: "worker-7", pollIntervalMs: 10 });
      await leasehold.waitForJobSequenceCompletion({
        id,
        typeName: "flaky",
        timeoutMs: 20_000,
        pollIntervalMs: 10,
      });
      await worker.stop();
      return id;
    };

    itIf(hasHistory)("shows when a job ran, where, and how that ended", async () => {
      const id = await runTwice(store);
      const { value } = await store.json("inspect", id);
      expect(value.attempts).toMatchObject([
        { attempt: 2, outcome: "completed", workerId: "worker-7", error: null },
        {
          attempt: 1,
          outcome: "retried",
          workerId: "worker-7",
          error: { name: "RangeError", message: "no\nluck" },
          log: [{ text: "tried", data: { attempt: 1 } }],
        },
      ]);
      const { stdout } = await store.folder.run("inspect", id);
      expect(stdout).toMatch(
        /\nAttempts\n +TRY +BEGAN +IN QUEUE +RAN +END +WORKER\n +2 .* completed +worker-7\n +1 .* retried +worker-7\n +RangeError: no luck\n/,
      );
    });

    itIf(!hasHistory)("shows no attempts where none are kept", async () => {
      const id = await runTwice(store);
      expect((await store.json("inspect", id)).value.attempts).toBeNull();
      expect((await store.folder.run("inspect", id)).stdout).not.toContain("Attempts");
    });

    it("changes jobs that wait", async () => {
      const { leasehold, folder, json } = store;
      const schedule = { afterMs: 3_600_000 };
      const sequences = ["a", "a", "b"].map((typeName) => ({ typeName, input: 1, schedule }));
      const [first = "", second = ""] = (await leasehold.startJobSequences({ sequences })).map(
        ({ id }) => id,
      );

      expect((await folder.run("waiting", "update", first, "--yes")).code).toBe(2);
      expect((await folder.run("waiting", "update", "--all", "--input", "2", "--yes")).code).toBe(2);
      expect((await folder.run("waiting", "run-now", "--type", "a")).code).toBe(6);
      const plan = await json("waiting", "run-now", "--type", "a", "--dry-run");
      expect(plan.value.changed).toHaveLength(2);
      const change = ["--priority", "7", "--input", "2", "--at", "2h", "--yes"];
      const changed = await folder.run("waiting", "update", first, ...change);
      expect(changed).toMatchObject({ code: 0, stdout: "Changed 1 job.\n" });
      const job = await leasehold.jobs.get({ id: first });
      expect(job).toMatchObject({ priority: 7, input: 2 });
      expect(job!.scheduledAt.getTime() - job!.createdAt.getTime()).toBeGreaterThan(schedule.afterMs * 1.5);

      const now = await folder.run("waiting", "run-now", "--type", "a", "--limit", "1", "--yes");
      expect(now.stdout).toBe("Changed 1 job.\n");
      await leasehold.jobs.cancel({ ids: [second] });
      const skipped = await folder.run("waiting", "run-now", second, "--yes");
      expect(skipped.stderr).toContain("it does not wait (failed)");
      expect(skipped.stdout).toBe("Changed 0 jobs.\n");
    });

    it("lists, redrives and deletes failed jobs", async () => {
      const { leasehold, folder, json } = store;
      const sequences = ["a", "a", "b"].map((typeName) => ({ typeName, input: null }));
      const [first] = await leasehold.startJobSequences({ sequences });
      await failAll(store, "a", "b");
      const failedTypes = async (): Promise<Record<string, number>> => {
        const rows = await leasehold.jobs.count({ status: "failed" });
        return Object.fromEntries(rows.map(({ typeName, count }) => [typeName, count]));
      };

      const listed = await folder.run("failed", "list");
      expect(listed.stdout).toContain("no \\u001b[31ma (attempts_exhausted)");
      const shown = await folder.run("inspect", first?.id ?? "");
      expect(shown.stdout).toContain("caused by Error: the reason below");
      expect(shown.stdout).not.toContain("\u001b[");

      const plan = await json("failed", "redrive", "--type", "a", "--dry-run");
      expect(plan.value.changed).toHaveLength(2);
      const unconfirmed = await folder.run("failed", "redrive", "--type", "a");
      expect(unconfirmed.code).toBe(6);
      expect(unconfirmed.stderr).toContain("--yes");
      expect(await failedTypes()).toEqual({ a: 2, b: 1 });

      const redriven = await folder.run("failed", "redrive", "--type", "a", "--yes");
      expect(redriven).toMatchObject({ code: 0, stdout: "Redrove 2 jobs.\n" });
      expect(await failedTypes()).toEqual({ b: 1 });

      expect((await json("failed", "delete", "--all", "--dry-run")).value).toMatchObject({ deletedJobs: 1 });
      expect((await json("failed", "delete", "--all", "--yes")).value).toMatchObject({
        deletedJobs: 1,
        skipped: [],
      });
      expect(await failedTypes()).toEqual({});
    });

    it("says that a job is not there", async () => {
      const unknown = await store.folder.run("inspect", "01890000-0000-7000-8000-000000000000");
      expect(unknown.code).toBe(3);
      expect(unknown.stderr).toContain("leasehold list");
      // PostgreSQL keeps ids as UUIDs, and refuses anything else.
      expect((await store.folder.run("cancel", "no-such-id", "--yes")).code).toBe(3);
    });

    it("runs a TypeScript worker until SIGTERM, and lets its job finish", async () => {
      const { folder, leasehold } = store;
      const started = await leasehold.startJobSequence({ typeName: "greet", input: "Ada" });
      const waiting = await leasehold.startJobSequence({ typeName: "slow", input: null });
      folder.write("worker.ts", workerModule);
      const worker = folder.start([
        "worker",
        "run",
        "worker.ts",
        "--concurrency",
        "2",
        "--poll-interval",
        "50ms",
      ]);
      const { output } = await leasehold.waitForJobSequenceCompletion({ ...started, timeoutMs: 15_000 });
      expect(output).toBe("Hello, Ada!");
      await worker.waitFor("slow has begun");
      worker.kill("SIGTERM");
      const { code, stderr } = await worker.ended;
      expect(stderr).toContain("Stopping");
      expect(code).toBe(0);
      expect((await leasehold.jobs.get({ id: waiting.id }))?.status).toBe("completed");
    });

    it("finds what is wrong", async () => {
      const { stateAdapter, leasehold, json } = store;
      expect(await json("doctor")).toMatchObject({ code: 0 });
      await leasehold.startJobSequences({
        sequences: ["lost", "unserved"].map((typeName) => ({ typeName, input: null })),
      });
      const now = await stateAdapter.getTime();
      await stateAdapter.claimJobs({
        workerId: "gone",
        leaseToken: "token",
        leaseMs: 1_000,
        requests: [{ queue: "default", typeNames: ["lost"], limit: 1 }],
        limit: 1,
      });
      await stateAdapter.renewLeases({
        leases: [
          {
            jobId: (await leasehold.jobs.list({ typeName: "lost" })).jobs[0]?.id ?? "",
            leaseToken: "token",
            leaseMs: 1_000,
          },
        ],
        now: now - 600_000,
      });
      await store.dropIndex();
      const { code, value } = await json("doctor", "--stalled-after", "1ms");
      expect(code).toBe(5);
      const problems = value.findings.filter(({ status }: { status: string }) => status === "problem");
      const unserved = {
        check: "queues",
        summary: expect.stringContaining("type unserved in queue default"),
      };
      const expected = [{ check: "indexes" }, { check: "leases" }, unserved];
      expect(problems).toMatchObject(expected);
      expect(problems).toHaveLength(expected.length);
    });

    itIf(hasLimits)("sets limits, pauses and resumes, and shows what is held", async () => {
      const { folder, json } = store;
      const set = await json(
        "limits",
        "set",
        "--queue",
        "default",
        "--type",
        "mail",
        "-c",
        "2",
        "--group-rate",
        "10/1m/5",
        "--weight",
        "acme=3",
      );
      expect(set).toMatchObject({
        code: 0,
        value: {
          queue: "default",
          typeName: "mail",
          concurrency: 2,
          perGroup: { concurrency: null, rate: { limit: 10, perMs: 60_000, burst: 5 } },
          weights: { acme: 3 },
        },
      });
      const more = ["--group-concurrency", "4", "--weight", "acme=none", "--weight", "b=2"];
      expect((await json("limits", "set", "--type", "mail", ...more)).value).toMatchObject({
        perGroup: { concurrency: 4, rate: { limit: 10, perMs: 60_000 } },
        weights: { b: 2 },
      });
      expect(
        (await json("limits", "set", "--type", "mail", "--group-concurrency", "none")).value,
      ).toMatchObject({
        perGroup: { concurrency: null, rate: { limit: 10 } },
      });
      const named = ["limits", "set", "--type", "mail", "--group", "acme"];
      expect((await json(...named, "-c", "3")).value).toMatchObject({
        groups: { acme: { concurrency: 3, rate: null } },
      });
      expect((await json(...named, "-c", "none")).value).toMatchObject({ groups: {} });
      expect((await folder.run("pause", "--queue", "default")).stdout).toMatch(/default +paused/);
      const id = (await folder.run("start", "mail", "--group", "acme")).stdout.trim();
      const shown = await folder.run("inspect", id);
      expect(shown.stdout).toContain('Queue "default" is paused');
      expect((await folder.run("groups", "mail", "--throttled")).stdout).toMatch(/acme +1 .* paused/);
      expect((await folder.run("limits")).stdout).toMatch(/default +mail +open +0\/2 +10\/1m/);
      expect((await folder.run("doctor")).stdout).toContain("Paused: default.");
      expect((await folder.run("resume", "--queue", "default")).stdout).toMatch(/default +open/);
      expect((await json("limits", "set", "--type", "mail", "-c", "none")).value).toMatchObject({
        concurrency: null,
      });
      const wrong = await folder.run("pause");
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--queue or --type")]);
      const zero = await folder.run("limits", "set", "--type", "mail", "-c", "0");
      expect(zero.code).toBe(2);
    });

    itIf(hasLimits)("limits and pauses a type where its jobs are, or asks for the queue", async () => {
      const { folder, json } = store;
      for (const command of [
        ["pause", "--type", "letter"],
        ["resume", "--type", "letter"],
        ["limits", "set", "--type", "letter", "-c", "2"],
      ]) {
        const { code, stderr } = await folder.run(...command, "--queue", "default");
        expect([code, stderr]).toEqual([0, expect.stringContaining("no jobs of type letter")]);
      }
      await folder.run("limits", "set", "--type", "letter", "-c", "none");
      const id = (await folder.run("start", "letter", "--queue", "outbox", "--group", "acme")).stdout.trim();
      expect((await json("pause", "--type", "letter")).value).toMatchObject({
        queue: "outbox",
        paused: true,
      });
      expect((await folder.run("inspect", id)).stdout).toContain("is paused");
      expect((await json("groups", "letter")).value).toMatchObject({ groups: [{ group: "acme" }] });
      await folder.run("resume", "--type", "letter");
      const held = await folder.run("pause", "--type", "letter", "--group", "acme", "--for", "1h");
      expect(held.code).toBe(0);
      expect((await folder.run("inspect", id)).stdout).toContain(
        'Group "acme" of type "letter" is paused until',
      );
      expect((await json("groups", "letter")).value).toMatchObject({ groups: [{ paused: true }] });
      expect((await folder.run("resume", "--type", "letter", "--group", "acme")).code).toBe(0);
      await folder.run("start", "letter", "--queue", "outbox", "--group", "zenith");
      const page = await folder.run("groups", "letter", "--limit", "1");
      expect([page.stdout, page.stderr]).toEqual([
        expect.stringMatching(/acme/),
        expect.stringMatching(/--cursor \S+/),
      ]);
      const [, cursor] = /--cursor (\S+)/.exec(page.stderr)!;
      const rest = await json("groups", "letter", "--limit", "1", "--cursor", cursor!);
      expect(rest.value).toMatchObject({ groups: [{ group: "zenith" }], cursor: null });
      const { value } = await json("pause", "--type", "letter", "--for", "1h");
      expect(value).toMatchObject({ paused: true, pausedUntil: expect.any(String) });
      const wrong = await folder.run("pause", "--queue", "outbox", "--group", "acme");
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--type")]);
      await folder.run("start", "letter", "--queue", "archive");
      const refused = await folder.run("resume", "--type", "letter");
      expect(refused.code).toBe(2);
      expect(refused.stderr).toMatch(/"archive", "outbox"/);
      expect((await json("limits")).value.flow).toContainEqual(
        expect.objectContaining({ queue: "outbox", typeName: "letter", paused: true }),
      );
    });

    it("looks after recurring jobs", async () => {
      const { leasehold, json, folder } = store;
      expect(await folder.run("recurring", "list")).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("No recurring jobs"),
      });
      const cron = "30 2 * * *";
      const job = { typeName: "report", input: { country: "DE" } };
      await leasehold.recurring.put({ id: "nightly", cron, timeZone: "Europe/Berlin", job });
      expect((await json("recurring", "list")).value).toMatchObject({
        recurringJobs: [{ id: "nightly", cron, paused: false }],
        cursor: null,
      });
      expect((await folder.run("recurring", "list")).stdout).toContain("30 2 * * * Europe/Berlin");

      const triggered = await json("recurring", "trigger", "nightly");
      expect(triggered).toMatchObject({ code: 0, value: { result: "started" } });
      const { sequenceId } = triggered.value as { sequenceId: string };
      const again = await folder.run("recurring", "trigger", "nightly");
      expect(again).toMatchObject({ code: 5, stdout: expect.stringContaining(sequenceId) });
      const shown = await folder.run("recurring", "show", "nightly");
      expect(shown.stdout).toContain("1 started, 0 caught up, 1 skipped, 0 dropped");
      expect(shown.stdout).toContain(sequenceId);

      expect((await json("recurring", "pause", "nightly")).value).toMatchObject({ paused: true });
      expect((await folder.run("recurring", "list")).stdout).toContain("paused");
      expect((await json("recurring", "resume", "nightly")).value).toMatchObject({ paused: false });

      const preview = await folder.run("recurring", "preview", "nightly", "-n", "2");
      expect(preview.stdout).toMatch(/^\d{4}-\d\d-\d\dT02:30:00\+0[12]:00\n.*T02:30:00\+0[12]:00\n$/);
      const impossible = await folder.run("recurring", "preview", "--cron", "30 2 31 2 *");
      expect(impossible).toMatchObject({ code: 2, stderr: expect.stringContaining("never comes") });
      expect((await folder.run("recurring", "preview")).code).toBe(2);

      expect((await folder.run("recurring", "delete", "nightly")).code).toBe(6);
      expect((await json("recurring", "delete", "nightly", "--yes")).value).toEqual({ deleted: true });
      for (const command of ["show", "pause", "delete"])
        expect((await folder.run("recurring", command, "nightly")).code).toBe(3);
    }, 60_000);

    it("notices recurring jobs that nobody looks after", async () => {
      const { leasehold, json, stateAdapter } = store;
      const recurring = requirePart(stateAdapter, "recurring", "This test");
      await leasehold.recurring.put({
        id: "hourly",
        cron: "0 * * * *",
        job: { typeName: "mail", input: null },
      });
      const check = async () =>
        (await json("doctor")).value.findings.filter(
          (finding: { check: string }) => finding.check === "recurring jobs",
        );
      expect(await check()).toMatchObject([{ status: "ok", summary: "1 recurring job, none overdue." }]);
      await stateAdapter.runInTransaction(async (ctx) => {
        const [row] = await recurring.lockRecurring({ ctx, ids: ["hourly"] });
        const runsAt = (await stateAdapter.getTime({ ctx })) - 7_200_000;
        await recurring.advanceRecurring({ ctx, jobs: [{ ...row!, runsAt, timeZoneVersion: "9999z" }] });
      });
      expect(await check()).toMatchObject([
        { status: "problem", summary: expect.stringContaining("1 recurring job overdue, hourly for 2h") },
        { status: "warning", summary: expect.stringContaining("time zone data 9999z") },
      ]);
    });

    it("prunes what finished long ago", async () => {
      const { folder, json, leasehold } = store;
      const { id } = await leasehold.startJobSequence({ typeName: "old", input: null });
      await leasehold.jobs.cancel({ ids: [id] });
      expect((await folder.run("prune", "--older-than", "1d")).code).toBe(6);
      expect((await json("prune", "--older-than", "1d", "-s", "failed", "--yes")).value.deletedJobs).toBe(0);
      await expect
        .poll(async () => {
          await json("prune", "--older-than", "1ms", "-s", "completed,failed", "--yes");
          return leasehold.jobs.get({ id });
        })
        .toBeUndefined();
      expect((await folder.run("prune", "--older-than", "1d", "-s", "pending", "--yes")).code).toBe(2);
    });

    it("measures, and leaves nothing behind", async () => {
      const { json, leasehold } = store;
      const { code, value } = await json("bench", "--jobs", "300", "--batch", "100", "--yes");
      expect(code).toBe(0);
      expect(value.startPerSecond).toBeGreaterThan(0);
      expect(value.drainPerSecond).toBeGreaterThan(0);
      expect(value.roundTripMs.p95).toBeGreaterThanOrEqual(value.roundTripMs.p50);
      expect(await leasehold.jobs.count()).toEqual([]);
    });

    it("shows a live table in a terminal until q is pressed", async () => {
      const { folder, leasehold } = store;
      await leasehold.startJobSequence({ typeName: "mail", input: null, queue: "post" });
      const top = folder.start(["top", "--interval", "100ms"], { terminal: { columns: 100, rows: 24 } });
      await top.waitFor("q quits");
      await leasehold.startJobSequence({ typeName: "parcel", input: null, queue: "post" });
      await top.waitFor("parcel");
      top.type("q");
      const { code, stdout } = await top.ended;
      expect(code).toBe(0);
      // The second picture was drawn over the first, and the cursor is back.
      expect(stdout).toContain("\u001b[2K");
      expect(stdout.lastIndexOf("\u001b[?25h")).toBeGreaterThan(stdout.lastIndexOf("\u001b[?25l"));
    });
  });
};
