import assert from "node:assert/strict";
import { LeaseholdError } from "../../base/errors.ts";
import {
  JobAlreadyCompletedError,
  JobAlreadyExistsError,
  JobSequenceFailedError,
} from "../../store/errors.ts";
import type { StoryTypes } from "./job-types.ts";
import type { Stage } from "./stage.ts";
import type { StoryLeasehold } from "./worker.ts";

type ExternalName = Exclude<keyof StoryTypes, "ship">;

/** What the caller names its sequences: a start can then be made again without starting anything twice. */
export const sequenceIds = {
  greet: "01900000-0000-7000-8000-000000000001",
  flaky: "01900000-0000-7000-8000-000000000002",
  progress: "01900000-0000-7000-8000-000000000003",
  staged: "01900000-0000-7000-8000-000000000004",
  atomic: "01900000-0000-7000-8000-000000000005",
  order: "01900000-0000-7000-8000-000000000006",
  leftPart: "01900000-0000-7000-8000-000000000007",
  rightPart: "01900000-0000-7000-8000-000000000008",
  assemble: "01900000-0000-7000-8000-000000000009",
  doomed: "01900000-0000-7000-8000-00000000000a",
  hopeful: "01900000-0000-7000-8000-00000000000b",
  approval: "01900000-0000-7000-8000-00000000000c",
  later: "01900000-0000-7000-8000-00000000000d",
  once: "01900000-0000-7000-8000-00000000000e",
  onceMore: "01900000-0000-7000-8000-00000000000f",
  slow: "01900000-0000-7000-8000-000000000010",
} as const;

// More than the calls of an outage: a transaction is not repeated automatically.
const mostTries = 6;

/**
 * Calls as a careful caller does: an error must be a typed one, and the same call is then made again. `goneThrough` are
 * the errors that say, on a second try, that the first had its effect.
 */
const insist = async <T>(
  call: () => Promise<T>,
  goneThrough: readonly (abstract new (...args: never[]) => Error)[] = [],
): Promise<T | undefined> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (goneThrough.some((kind) => error instanceof kind)) {
        assert.ok(attempt > 1, `the first try was told of an earlier one: ${String(error)}`);
        return undefined;
      }
      assert.ok(error instanceof LeaseholdError, `the caller got an untyped error: ${String(error)}`);
      // One fault does not make every later call fail.
      if (attempt === mostTries) throw error;
    }
  }
};

const created = [JobAlreadyExistsError];
const waiting = { timeoutMs: 20_000, pollIntervalMs: 100 };

const startEverything = async (caller: StoryLeasehold): Promise<void> => {
  const { startJobSequence } = caller;
  await insist(
    () =>
      caller.startJobSequences({
        sequences: [
          { typeName: "greet", input: { name: "Ada" }, id: sequenceIds.greet },
          { typeName: "flaky", id: sequenceIds.flaky },
          { typeName: "slow", id: sequenceIds.slow },
          { typeName: "progress", id: sequenceIds.progress },
          { typeName: "staged", id: sequenceIds.staged },
          { typeName: "atomic", id: sequenceIds.atomic },
        ],
      }),
    created,
  );
  await insist(
    () => startJobSequence({ typeName: "order", input: { n: 1 }, id: sequenceIds.order }),
    created,
  );
  await insist(
    () =>
      startJobSequence({
        typeName: "assemble",
        id: sequenceIds.assemble,
        startBlockers: async () => [
          await startJobSequence({ typeName: "part", input: { n: 1 }, id: sequenceIds.leftPart }),
          await startJobSequence({ typeName: "part", input: { n: 2 }, id: sequenceIds.rightPart }),
        ],
      }),
    created,
  );
  // In a transaction of the caller's own, as it would be together with rows of its own.
  await insist(
    () =>
      caller.runInTransaction(async (ctx) => {
        const doomed = await startJobSequence({ ...ctx, typeName: "doomed", id: sequenceIds.doomed });
        await startJobSequence({
          ...ctx,
          typeName: "hopeful",
          id: sequenceIds.hopeful,
          startBlockers: () => [doomed],
        });
      }),
    created,
  );
  await insist(() => startJobSequence({ typeName: "approval", id: sequenceIds.approval }), created);
  await insist(
    () => startJobSequence({ typeName: "later", id: sequenceIds.later, schedule: { afterMs: 3_600_000 } }),
    created,
  );
};

const startTwiceUnderOneKey = async ({ startJobSequence }: StoryLeasehold): Promise<void> => {
  const once = {
    typeName: "later",
    schedule: { afterMs: 3_600_000 },
    deduplication: { key: "once" },
  } as const;
  await insist(() => startJobSequence({ ...once, id: sequenceIds.once }), created);
  const second = await insist(() => startJobSequence({ ...once, id: sequenceIds.onceMore }), created);
  assert.deepEqual([second?.id, second?.deduplicated], [sequenceIds.once, true]);
};

/** Tells the story from start to end. Everything it promises is checked on the way. */
export const tell = async ({ caller, outside, startWorker, stopWorker }: Stage): Promise<void> => {
  const outputOf = async (typeName: ExternalName, id: string): Promise<unknown> => {
    const sequence = await insist(() => caller.waitForJobSequenceCompletion({ typeName, id, ...waiting }));
    return (sequence as { output?: unknown } | undefined)?.output;
  };
  const failureOf = async (typeName: ExternalName, id: string): Promise<string> => {
    const wait = async (): Promise<string> => {
      try {
        await caller.waitForJobSequenceCompletion({ typeName, id, ...waiting });
      } catch (error) {
        if (error instanceof JobSequenceFailedError) return error.reason;
        throw error;
      }
      return "none";
    };
    return (await insist(wait)) ?? "none";
  };

  await startWorker();
  await startEverything(caller);
  await startTwiceUnderOneKey(caller);

  assert.equal(await outputOf("greet", sequenceIds.greet), "Hello Ada");
  assert.equal(await outputOf("flaky", sequenceIds.flaky), "at last");
  assert.equal(await outputOf("slow", sequenceIds.slow), "done");
  assert.equal(await outputOf("progress", sequenceIds.progress), "done");
  assert.equal(await outputOf("staged", sequenceIds.staged), "prepared and completed");
  assert.equal(await outputOf("atomic", sequenceIds.atomic), "prepared and completed");
  assert.equal(await outputOf("order", sequenceIds.order), "shipped 1");
  assert.equal(await outputOf("assemble", sequenceIds.assemble), 3);

  assert.equal(await failureOf("doomed", sequenceIds.doomed), "unrecoverable");
  assert.equal(await failureOf("hopeful", sequenceIds.hopeful), "blocker_failed");
  outside.mended = true;
  await insist(() => caller.jobs.redrive({ ids: [sequenceIds.doomed] }));
  assert.equal(await outputOf("hopeful", sequenceIds.hopeful), "after mended");

  await insist(() => caller.jobs.cancel({ ids: [sequenceIds.later, sequenceIds.once] }));
  assert.equal(await failureOf("later", sequenceIds.later), "cancelled");

  const approve = () =>
    caller.completeJobSequence({
      typeName: "approval",
      id: sequenceIds.approval,
      complete: async ({ job, complete }) => {
        // Made again after its answer was lost, it finds the next job in this place.
        if (job.typeName !== "approval") return;
        await complete(job, ({ continueWith }) => continueWith({ typeName: "ship", input: { n: 2 } }));
      },
    });
  await insist(approve, [JobAlreadyCompletedError]);
  assert.equal(await outputOf("approval", sequenceIds.approval), "shipped 2");

  const explanation = await insist(() => caller.jobs.explain({ id: sequenceIds.doomed }));
  assert.equal(explanation?.state, "completed");
  await stopWorker();
};
