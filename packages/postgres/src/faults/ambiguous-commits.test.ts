import { randomUUID } from "node:crypto";
import { JobAlreadyExistsError } from "leasehold";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, type Driver, openKit } from "../testing/kit.ts";
import { type RequestMatch, startTcpProxy, type TcpProxy } from "../testing/tcp-proxy.ts";
import { until } from "../testing/until.ts";

const holds =
  (text: string): RequestMatch =>
  (request) =>
    request.includes(text);

const insertsJobs: RequestMatch = (request) => /INSERT INTO "\w+"\.job \(/.test(request);
const claims: RequestMatch = holds("lease_version + 1");
const commitsOutcomes: RequestMatch = holds("o.continued_to_id");
/** Workers and reporters commit on their own, too. What a test means is the commit of a transaction that contains this. */
const commitsWhat =
  (content: RegExp): RequestMatch =>
  (request, transaction) =>
    /\bcommit\b/i.test(request) && content.test(transaction);
const commitsJobs = commitsWhat(/\.job\b/);
const commitsLedger = commitsWhat(/\.ledger\b/);

const workerOptions = { pollIntervalMs: 50, leaseMs: 3_000, reapIntervalMs: 500, concurrency: 5 };

describe.each<Driver>(["pg", "postgres"])("an unknown outcome through %s", (driver) => {
  let proxy: TcpProxy;
  let kit: Kit;
  beforeEach(async () => {
    const directUrl = inject("postgres18Url");
    proxy = await startTcpProxy(directUrl);
    kit = await openKit({
      url: proxy.url,
      directUrl,
      driver,
      prepareStatements: false,
      // A lost connection of `postgres` may never answer when it is used again.
      leasehold: { storeDeadlineMs: 2_000 },
    });
  });
  afterEach(async () => {
    await kit.close();
    await proxy.close();
  });

  /** Loses the request or its reply, as the case says. */
  const lose = (what: "request" | "reply", matches: RequestMatch): Promise<void> =>
    what === "request" ? proxy.loseRequest(matches) : proxy.loseReply(matches);

  const ledger = (): Promise<{ n: number }[]> => kit.rows("SELECT n FROM $schema.ledger ORDER BY n");

  describe.each(["request", "reply"] as const)("when the %s is lost", (what) => {
    it("a start happens once, and the caller gets its result", async () => {
      const lost = lose(what, insertsJobs);
      const started = await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      await lost;
      expect(started).toMatchObject({ deduplicated: false });
      expect(await kit.rows("SELECT id FROM $schema.job")).toEqual([{ id: started.id }]);
    });

    it("so does a start of many", async () => {
      const lost = lose(what, insertsJobs);
      const sequences = Array.from({ length: 50 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
      const started = await kit.leasehold.startJobSequences({ sequences });
      await lost;
      expect(started).toHaveLength(50);
      expect(await kit.statuses()).toEqual({ pending: 50 });
    });

    it("a start in the user's transaction is committed with the user's write, or neither is", async () => {
      const lost = lose(what, commitsLedger);
      const id = randomUUID();
      const start = (): Promise<unknown> =>
        kit.leasehold.runInTransaction(async (ctx) => {
          await kit.writeIn(ctx)(`INSERT INTO ${kit.schema}.ledger VALUES (1, 1, $1, 0, 0)`, [id]);
          await kit.leasehold.startJobSequence({ ...ctx, id, typeName: "work", input: { n: 1 } });
        });
      await expect(start()).rejects.toSatisfy((error) => kit.stateAdapter.isTransientError(error));
      await lost;
      const committed = what === "reply";
      expect(await ledger()).toHaveLength(committed ? 1 : 0);
      expect(await kit.statuses()).toEqual(committed ? { pending: 1 } : {});
      // The id makes a retry safe, and shows whether the first attempt was committed.
      if (committed) await expect(start()).rejects.toBeInstanceOf(JobAlreadyExistsError);
      else await start();
      expect(await ledger()).toHaveLength(1);
      expect(await kit.statuses()).toEqual({ pending: 1 });
    });

    it("a claim is found again by its token, and the job runs once", async () => {
      await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      const lost = lose(what, claims);
      let runs = 0;
      const worker = await kit.leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async () => ++runs })
        .start(workerOptions);
      await lost;
      await until(async () => (await kit.statuses())["completed"] === 1, "the job has completed");
      await worker.stop();
      expect(runs).toBe(1);
      const jobs = await kit.rows("SELECT attempt, lease_version, expired_leases FROM $schema.job");
      expect(jobs).toEqual([{ attempt: 1, lease_version: 1, expired_leases: 0 }]);
    });

    it("an outcome is written once, without running the job again", async () => {
      const lost = lose(what, commitsOutcomes);
      let runs = 0;
      const worker = await kit.leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async () => ++runs })
        .start(workerOptions);
      await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      await lost;
      await until(async () => (await kit.statuses())["completed"] === 1, "the job has completed");
      await worker.stop();
      expect(runs).toBe(1);
      const jobs = await kit.rows("SELECT attempt, lease_version, output FROM $schema.job");
      expect(jobs).toEqual([{ attempt: 1, lease_version: 1, output: "1" }]);
    });

    it("a retry is written once, and its attempt with it", async () => {
      const lost = lose(what, commitsOutcomes);
      let runs = 0;
      const worker = await kit.leasehold
        .createWorker({ retry: { type: "fixed", delayMs: 20 } })
        .implementJobType({
          typeName: "work",
          process: async () => {
            runs += 1;
            if (runs === 1) throw new Error("not yet");
            return runs;
          },
        })
        .start(workerOptions);
      await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      await lost;
      await until(async () => (await kit.statuses())["completed"] === 1, "the job has completed");
      await worker.stop();
      expect(runs).toBe(2);
      const jobs = await kit.rows("SELECT attempt, lease_version, output FROM $schema.job");
      expect(jobs).toEqual([{ attempt: 2, lease_version: 2, output: "2" }]);
      const attempts = await kit.rows("SELECT attempt, lease_version, outcome FROM $schema.job_attempt");
      expect(attempts).toEqual([{ attempt: 1, lease_version: 1, outcome: "retry" }]);
    });

    it("a cancellation, a redrive and a deletion say what they did", async () => {
      const { leasehold } = kit;
      const { id } = await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      const losing = async <T>(call: () => Promise<T>): Promise<T> => {
        const lost = lose(what, commitsJobs);
        const result = await call();
        await lost;
        return result;
      };
      expect(await losing(() => leasehold.jobs.cancel({ ids: [id] }))).toMatchObject({
        changed: [{ id }],
        skipped: [],
      });
      expect(await kit.statuses()).toEqual({ failed: 1 });
      expect(await losing(() => leasehold.jobs.redrive({ ids: [id] }))).toMatchObject({
        changed: [{ id }],
        skipped: [],
      });
      expect(await kit.statuses()).toEqual({ pending: 1 });
      const removal = await losing(() => leasehold.deleteJobSequences({ rootSequenceIds: [id] }));
      expect(removal).toMatchObject({ changed: [{ id }], skipped: [] });
      expect(await kit.statuses()).toEqual({});
    });

    it("a completion and the user's write are both there, once", async () => {
      let runs = 0;
      const lost = lose(what, commitsLedger);
      const worker = await kit.leasehold
        .createWorker({ retry: { type: "fixed", delayMs: 20 } })
        .implementJobType({
          typeName: "work",
          process: async ({ job, complete }) =>
            complete(async (ctx) => {
              runs += 1;
              await kit.writeIn(ctx)(`INSERT INTO ${kit.schema}.ledger VALUES (1, 1, $1, 0, 0)`, [job.id]);
              return runs;
            }),
        })
        // On a busy machine the lease may expire. If it were reaped, the job would have one more attempt.
        .start({ ...workerOptions, reapIntervalMs: 60_000 });
      await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      await lost;
      await until(async () => (await kit.statuses())["completed"] === 1, "the job has completed");
      const { clean } = await worker.stop();
      expect(clean).toBe(true);
      expect(await ledger()).toEqual([{ n: 1 }]);
      // What was committed is not done again, although the worker never got the reply.
      const expected = what === "reply" ? 1 : 2;
      expect(runs).toBe(expected);
      // What was not committed is done again within the attempt.
      const jobs = await kit.rows("SELECT status, attempt, output FROM $schema.job");
      expect(jobs).toEqual([{ status: "completed", attempt: 1, output: String(expected) }]);
    });
  });

  // `postgres` 3.4 survives only one loss at a time (see its provider).
  if (driver === "pg")
    it("in the middle of a storm of lost requests and replies every job writes its line exactly once", async () => {
      const jobs = 300;
      let left = 60;
      let seen = 0;
      const storm = (): void => {
        if (left === 0) return;
        left -= 1;
        const every = 5 + (left % 7);
        const lost = lose(left % 2 === 0 ? "request" : "reply", () => (seen += 1) % every === 0);
        void lost.then(storm);
      };
      const worker = await kit.leasehold
        .createWorker({ retry: { type: "fixed", delayMs: 10 } })
        .implementJobType({
          typeName: "work",
          process: async ({ job, complete }) =>
            complete(async (ctx) => {
              const params = [String(job.input.n), job.id, String(job.attempt)];
              const sql = `INSERT INTO ${kit.schema}.ledger (n, job_id, attempt, lease_version)
              VALUES ($1::text::int, $2, $3::text::int, 0)`;
              await kit.writeIn(ctx)(sql, params);
              return job.input.n;
            }),
        })
        .start(workerOptions);
      const sequences = Array.from({ length: jobs }, (_, n) => ({
        typeName: "work" as const,
        input: { n },
        // A lost connection does not use up an attempt. A lease that could not be renewed in time does.
        maxAttempts: 10,
      }));
      await kit.leasehold.startJobSequences({ sequences });
      storm();
      await until(async () => (await kit.statuses())["completed"] === jobs, "all jobs have completed");
      expect(left).toBe(0);
      expect((await ledger()).map(({ n }) => n)).toEqual(sequences.map(({ input }) => input.n));
      await worker.stop();
    });
});
