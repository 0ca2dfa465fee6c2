import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jsonCodec } from "./base/codec.ts";
import type { LeaseholdOptions } from "./create-engine.ts";
import { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./job-types/define.ts";
import type { StandardSchemaV1 } from "./job-types/options.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "./memory/state-adapter.ts";
import { createInProcessNotifyAdapter } from "./notify/in-process.ts";
import { watchGlobals } from "./testing/global-watch.ts";
import { hostileValues } from "./testing/hostile-values.ts";

interface Types {
  work: { input: { n: number }; output: unknown };
}

const openTypes = defineUnionJobTypes<Types>();

const largeMessage = 50_000_000;

const makers: readonly (() => unknown)[] = [
  ...hostileValues,
  () => new Error("x".repeat(largeMessage)),
  () => "x".repeat(largeMessage),
  ...fc
    .sample(fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withMap: true }), {
      numRuns: 200,
      seed: 1,
    })
    .map((value) => () => value),
];

const throwNth = (n: number): never => {
  throw makers[n]!();
};

const watch = watchGlobals();

let stateAdapter: InProcessStateAdapter;

beforeEach(() => {
  watch.start();
  stateAdapter = createInProcessStateAdapter();
});

afterEach(async () => {
  watch.check();
  watch.stop();
  await stateAdapter.close();
});

const open = (options: Partial<LeaseholdOptions<Types, InProcessStateAdapter>> = {}) =>
  createLeasehold<Types, InProcessStateAdapter>({
    stateAdapter,
    notifyAdapter: createInProcessNotifyAdapter(),
    jobTypes: openTypes,
    ...options,
  });

type App = Awaited<ReturnType<typeof open>>;

/** Starts one job for each maker, lets the worker have them, and returns them as they ended. */
const runAll = async (
  leasehold: App,
  worker: ReturnType<App["createWorker"]>,
): Promise<Awaited<ReturnType<InProcessStateAdapter["listJobs"]>>["jobs"]> => {
  const sequences = makers.map((_make, n) => ({ typeName: "work" as const, input: { n }, maxAttempts: 1 }));
  const started = await leasehold.startJobSequences({ sequences });
  const running = await worker.start({ pollIntervalMs: 20 });
  await Promise.allSettled(
    started.map(({ id }) => leasehold.waitForJobSequenceCompletion({ id, typeName: "work" })),
  );
  const { healthy } = running.health();
  expect(healthy).toBe(true);
  await running.stop();
  const { jobs } = await stateAdapter.listJobs({ filter: {}, order: "oldest", limit: 100_000, after: null });
  expect(jobs).toHaveLength(makers.length);
  return jobs;
};

const expectRecorded = (jobs: Awaited<ReturnType<typeof runAll>>): void => {
  for (const { status, lastError, failureReason } of jobs) {
    expect([status, failureReason]).toEqual(["failed", "attempts_exhausted"]);
    expect(lastError?.length).toBeGreaterThan(2);
    expect(lastError?.length).toBeLessThan(100_000);
  }
};

const timeoutMs = 60_000;

describe("whatever is thrown is recorded, and the worker goes on", () => {
  it(
    "by a handler",
    async () => {
      const leasehold = await open();
      const worker = leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async ({ job }) => throwNth(job.input.n) });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );

  it(
    "by middleware",
    async () => {
      const leasehold = await open();
      const worker = leasehold
        .createWorker()
        .use(async ({ job }) => throwNth((job.input as { n: number }).n))
        .implementJobType({ typeName: "work", process: async () => null });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );

  it(
    "by a completion callback",
    async () => {
      const leasehold = await open();
      const worker = leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job, complete }) => complete(async () => throwNth(job.input.n)),
      });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );

  it(
    "by a prepare callback",
    async () => {
      const leasehold = await open();
      const worker = leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job, prepare }) => {
          const { n } = job.input;
          await prepare({ mode: n % 2 === 0 ? "staged" : "atomic" }, async () => throwNth(n));
          return null;
        },
      });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );

  it(
    "after the completion",
    async () => {
      const told: unknown[] = [];
      const leasehold = await open({
        observabilityAdapter: { jobAttemptErrorAfterCompletion: ({ error }) => void told.push(error) },
      });
      const worker = leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job, complete }) => {
          await complete(() => null);
          return throwNth(job.input.n);
        },
      });
      const jobs = await runAll(leasehold, worker);
      expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(["completed"]));
      expect(told).toHaveLength(makers.length);
      for (const error of told) expect(error).toBeInstanceOf(Error);
    },
    timeoutMs,
  );

  it(
    "by a retry policy and by observers",
    async () => {
      let calls = 0;
      const throwNext = (): never => throwNth((calls += 1) % makers.length);
      const leasehold = await open({
        log: throwNext,
        observabilityAdapter: {
          jobAttemptFailed: throwNext,
          jobCompleted: (async () => throwNext()) as never,
        },
      });
      const worker = leasehold.createWorker({ retry: throwNext }).implementJobType({
        typeName: "work",
        process: async ({ job }) => throwNth(job.input.n),
      });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );

  it(
    "by a codec, for the output",
    async () => {
      const encode: typeof jsonCodec.encode = (value, ...place) => {
        const { fail } = (value ?? {}) as { fail?: number };
        return fail === undefined ? jsonCodec.encode(value, ...place) : throwNth(fail);
      };
      const leasehold = await open({ codec: { ...jsonCodec, encode } });
      const worker = leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async ({ job }) => ({ fail: job.input.n }) });
      expectRecorded(await runAll(leasehold, worker));
    },
    timeoutMs,
  );
});

describe("whatever a handler returns", () => {
  it(
    "ends in an output or in a recorded failure",
    async () => {
      const leasehold = await open();
      const worker = leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async ({ job }) => makers[job.input.n]!() });
      const jobs = await runAll(leasehold, worker);
      for (const { status, output, lastError } of jobs) {
        expect(status === "completed" ? output : lastError).toBeTypeOf("string");
      }
      expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(["completed", "failed"]));
    },
    timeoutMs,
  );
});

/** A schema that accepts at start, and at claim answers or throws something else for each job. */
const schemaThat = (misbehave: (n: number) => unknown): StandardSchemaV1<{ n: number }> => {
  const seen = new Set<number>();
  return {
    "~standard": {
      version: 1,
      vendor: "hostile",
      validate: (value) => {
        const { n } = value as { n: number };
        if (seen.has(n)) return misbehave(n) as never;
        seen.add(n);
        return { value: { n } };
      },
    },
  };
};

describe("a schema that misbehaves at claim", () => {
  const misbehaviours: Record<string, (n: number) => unknown> = {
    throws: throwNth,
    "answers with anything": (n) => makers[n]!(),
    "answers with anything for a value": (n) => ({ value: makers[n]!() }),
    "answers with anything for issues": (n) => ({ issues: makers[n]!() }),
    "answers with anything for an issue": (n) => ({ issues: [makers[n]!()] }),
  };
  for (const [name, misbehave] of Object.entries(misbehaviours)) {
    it(
      `${name}: every job ends, and the worker goes on`,
      async () => {
        const jobTypes = defineJobTypes({
          work: { input: schemaThat(misbehave), output: typeOnly<unknown>() },
        }) as unknown as JobTypes<Types>;
        const leasehold = await open({ jobTypes });
        const worker = leasehold
          .createWorker()
          .implementJobType({ typeName: "work", process: async () => null });
        const jobs = await runAll(leasehold, worker);
        for (const { status } of jobs) expect(["completed", "failed"]).toContain(status);
      },
      timeoutMs,
    );
  }
});
