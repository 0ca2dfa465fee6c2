import { describe, expect, it } from "vitest";
import { parseStoredError } from "../base/stored-error.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { CommitOutcomesCall, JobOutcome } from "../store/contract/outcomes.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { RescheduleJobError, UnrecoverableJobError } from "../store/errors.ts";
import { recordCalls, type RecordedAdapter } from "../testing/record-calls.ts";
import { createTestKit, type TestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import type { JobHandler } from "./handler-api.ts";

interface Types {
  work: { input: number; output: number };
}

const jobTypes = defineUnionJobTypes<Types>();

const createKit = async (
  options: {
    deployment?: string;
    history?: boolean;
    wrap?: (adapter: AnyStateAdapter) => AnyStateAdapter;
  } = {},
) => {
  let recorded: RecordedAdapter<AnyStateAdapter> | undefined;
  const { history = true, wrap = (adapter) => adapter, ...rest } = options;
  const kit: TestKit<Types> = await createTestKit({
    jobTypes,
    ...rest,
    wrapStateAdapter: (adapter) => {
      const offered = wrap({ ...adapter, history: history ? (adapter.history ?? ({} as never)) : undefined });
      recorded = recordCalls(offered);
      return recorded.adapter as typeof adapter;
    },
  });
  const outcomes = (): readonly JobOutcome[] =>
    recorded!.callsOf("commitOutcomes").flatMap(({ args }) => (args[0] as CommitOutcomesCall).outcomes);
  return { ...kit, outcomes };
};

const runOne = async (
  process: JobHandler<Types, object, string, "work">,
  options: Parameters<typeof createKit>[0] & { timeoutMs?: number; maxAttempts?: number } = {},
) => {
  const { timeoutMs, maxAttempts, ...rest } = options;
  const kit = await createKit(rest);
  const worker = kit.leasehold
    .createWorker()
    .implementJobType({ typeName: "work", timeoutMs, maxAttempts, process });
  const { id } = await kit.leasehold.startJobSequence({ typeName: "work", input: 1 });
  const startedAt = kit.clock.now();
  await kit.drain(worker, { workerId: "w" });
  return { kit, id, startedAt, outcomes: kit.outcomes() };
};

const fail = async (): Promise<never> => {
  throw new RangeError("Order 17 is gone");
};

describe("the note of an attempt", () => {
  it("says who ran a failed attempt, when, where, and with which error", async () => {
    const { startedAt, outcomes } = await runOne(fail, { deployment: "v7" });
    expect(outcomes).toMatchObject([
      {
        kind: "retry",
        note: {
          attempt: 1,
          leaseVersion: 1,
          workerId: "w",
          deployment: "v7",
          dueAt: startedAt,
          startedAt,
          fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
          log: null,
        },
      },
    ]);
    expect(parseStoredError(outcomes[0]!.note!.error)).toMatchObject({
      name: "RangeError",
      message: "Order 17 is gone",
    });
  });

  it.each<[string, () => Promise<never>]>([
    ["fail", () => Promise.reject(new UnrecoverableJobError("no"))],
    [
      "release",
      () => Promise.reject(new RescheduleJobError({ afterMs: 1_000 }, { cause: new Error("busy") })),
    ],
  ])("comes with the outcome %s", async (kind, process) => {
    const { outcomes } = await runOne(process);
    expect(outcomes).toMatchObject([{ kind, note: { attempt: 1, deployment: null } }]);
  });

  it("comes with a timeout that the handler ignores", async () => {
    const { outcomes } = await runOne(() => new Promise(() => {}), { timeoutMs: 1_000 });
    expect(parseStoredError(outcomes[0]!.note!.error)).toMatchObject({ code: "JobTimeout" });
  });

  it("does not come with a completion", async () => {
    const completed = await runOne(async () => 1);
    expect(completed.outcomes.map((outcome) => [outcome.kind, "note" in outcome])).toEqual([
      ["complete", false],
    ]);
  });

  it("comes without an error with a job that is rescheduled without one", async () => {
    const { outcomes } = await runOne(async ({ log }) => {
      log("a line");
      throw new RescheduleJobError({ afterMs: 1_000 });
    });
    expect(outcomes).toMatchObject([
      { kind: "release", note: { attempt: 1, error: null, fingerprint: null, log: expect.any(String) } },
    ]);
  });

  it("does not come with a job that is released before its handler begins", async () => {
    let stop: (() => Promise<unknown>) | undefined;
    let stopped: Promise<unknown> | undefined;
    const kit = await createKit({
      wrap: (adapter) =>
        wrapAdapter(adapter, (method, original) => async (...args) => {
          const answer: unknown = await original(...args);
          if (method === "claimJobs" && (answer as unknown[]).length > 0) stopped ??= stop?.();
          return answer;
        }),
    });
    const running = await kit.clock.runUntil(
      kit.leasehold.createWorker().implementJobType({ typeName: "work", process: fail }).start(),
    );
    stop = () => running.stop();
    await kit.leasehold.startJobSequence({ typeName: "work", input: 1 });
    await kit.clock.runUntil(() => stopped !== undefined);
    await kit.clock.runUntil(stopped!);
    expect(kit.outcomes().map((outcome) => [outcome.kind, "note" in outcome])).toEqual([["release", false]]);
  });

  it("is not made for a store without a history", async () => {
    const { outcomes } = await runOne(fail, { history: false });
    expect(outcomes.map((outcome) => "note" in outcome)).toEqual([false]);
  });

  it("has a short form of a long error", async () => {
    const long = "ü".repeat(10_000);
    const { outcomes } = await runOne(async () => {
      throw new Error(long, { cause: new Error(long) });
    });
    const { error } = outcomes[0]!.note!;
    expect(Buffer.byteLength(error!)).toBeLessThanOrEqual(4_096);
    expect(parseStoredError(error)).toMatchObject({ name: "Error", message: expect.stringMatching(/^ü+…$/) });
  });

  it("comes without text where the store cannot take the text", async () => {
    const { outcomes } = await runOne(
      async ({ log }) => {
        log("a line");
        return fail();
      },
      {
        wrap: (adapter) =>
          wrapAdapter(adapter, (method, original) => (...args) => {
            const call = args[0] as CommitOutcomesCall;
            if (method === "commitOutcomes" && call.outcomes.some(({ note }) => note?.log != null))
              return Promise.reject(new Error("cannot take it"));
            return original(...args);
          }),
      },
    );
    expect(outcomes.at(-1)).toMatchObject({ error: null, note: { attempt: 1, error: null, log: null } });
  });
});

describe("what a handler logs", () => {
  it("is stored with an attempt that fails", async () => {
    const { startedAt, outcomes } = await runOne(async ({ log }) => {
      log("first", { n: 1 });
      log("second");
      return fail();
    });
    expect(JSON.parse(outcomes[0]!.note!.log!)).toEqual([
      [startedAt, "first", { n: 1 }],
      [startedAt, "second"],
    ]);
  });

  it("keeps the last 100 lines and 16 KiB", async () => {
    const short = await runOne(async ({ log }) => {
      for (let n = 0; n < 250; n++) log(`line ${n}`);
      return fail();
    });
    const lines = JSON.parse(short.outcomes[0]!.note!.log!) as [number, string][];
    expect([lines.length, lines[0]![1], lines.at(-1)![1]]).toEqual([100, "line 150", "line 249"]);

    const long = await runOne(async ({ log }) => {
      for (let n = 0; n < 50; n++) log(`${n} ${"ü".repeat(5_000)}`, "x".repeat(100_000));
      return fail();
    });
    const text = long.outcomes[0]!.note!.log!;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1_024);
    expect((JSON.parse(text) as [number, string][]).at(-1)![1]).toMatch(/^49 ü+…$/);
  });

  it("never is the end of a job", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const { kit, id } = await runOne(async ({ log }) => {
      log("\ud800\0", cyclic);
      log(Symbol("s") as unknown as string, 1n);
      log(
        {
          toString: () => {
            throw new Error("trap");
          },
        } as unknown as string,
        () => {},
      );
      return 1;
    });
    expect(await kit.leasehold.jobs.get({ id })).toMatchObject({ status: "completed" });
  });

  it("is stored with each job of a batch that fails", async () => {
    const kit = await createKit();
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "work",
      maxSize: 2,
      process: async ({ jobs, log }) => {
        log(`of ${jobs.length}`);
        throw new Error("no");
      },
    });
    await kit.leasehold.startJobSequences({
      sequences: [1, 2].map((input) => ({ typeName: "work" as const, input })),
    });
    await kit.drain(worker);
    const texts = kit.outcomes().map(({ note }) => (JSON.parse(note!.log!) as [number, string][])[0]![1]);
    expect(texts).toEqual(["of 2", "of 2"]);
  });
});
