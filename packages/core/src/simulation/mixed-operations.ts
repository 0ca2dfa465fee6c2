import { drawBehaviours, needsTimeout } from "./behaviours.ts";
import type { MixedLeasehold, Script } from "./mixed-job-types.ts";
import type { OperationContext } from "./workload.ts";

type Operation = (leasehold: MixedLeasehold, context: OperationContext) => Promise<unknown>;

class ChangedMyMind extends Error {}

const drawScript = ({ random, process, plan }: OperationContext, hops: number): Script => ({
  script: drawBehaviours(random, process.strengthOf, plan.leaseMs),
  hops,
});

const drawOptions = (context: OperationContext, input: Script) => {
  const { random, plan } = context;
  return {
    input,
    priority: random.integer(-1, 1),
    ...(random.chance(0.2) && { schedule: { afterMs: Math.ceil(random.next() * 2 * plan.leaseMs) } }),
    ...(random.chance(0.3) && { maxAttempts: random.integer(1, 5) }),
    ...(random.chance(0.1) && { expireAfterMs: Math.ceil(random.next() * 3 * plan.leaseMs) + 1 }),
    ...((needsTimeout(input.script) || random.chance(0.3)) && { timeoutMs: Math.ceil(plan.leaseMs * 0.8) }),
  };
};

const drawOnDuplicate = ({ random, plan }: OperationContext) =>
  random.pick([
    "keep",
    "replace",
    { debounce: { maxDelayMs: Math.ceil(plan.leaseMs * (0.1 + random.next())) } },
  ] as const);

const drawDeduplication = (context: OperationContext) => {
  const { random, plan } = context;
  if (!random.chance(0.4)) return undefined;
  const key = random.pick(["a", "b"]);
  const onDuplicate = drawOnDuplicate(context);
  if (random.chance(0.5)) return { deduplication: { key, strategy: "pending" as const, onDuplicate } };
  return {
    deduplication: {
      key,
      strategy: random.pick(["unfinished", "unfinished", "all"] as const),
      onDuplicate,
      ...(random.chance(0.3) && { windowMs: plan.leaseMs * 2 }),
    },
  };
};

const drawStart = (context: OperationContext) => ({
  typeName: context.random.pick(["task", "task", "urgent"] as const),
  ...drawOptions(context, drawScript(context, 0)),
  ...drawDeduplication(context),
});

const pickSequence = ({ random, jobs }: OperationContext, isWanted: (typeName: string) => boolean) => {
  const firsts = jobs().filter(({ sequenceIndex, typeName }) => sequenceIndex === 0 && isWanted(typeName));
  return firsts.length === 0 ? undefined : random.pick(firsts);
};

const startOne: Operation = (leasehold, context) => leasehold.startJobSequence(drawStart(context));

const startMany: Operation = (leasehold, context) =>
  leasehold.startJobSequences({
    sequences: Array.from({ length: context.random.integer(2, 6) }, () => drawStart(context)),
  });

/** Many jobs that take next to no time: these make workers fetch ahead. */
const startBurst: Operation = (leasehold, { random }) =>
  leasehold.startJobSequences({
    sequences: Array.from({ length: random.integer(6, 12) }, () => ({
      typeName: "task" as const,
      input: { script: [{ kind: "return" as const, ms: random.integer(1, 20) }], hops: 0 },
    })),
  });

/** Many jobs that run in batches. */
const startBundles: Operation = (leasehold, context) =>
  leasehold.startJobSequences({
    sequences: Array.from({ length: context.random.integer(3, 8) }, () => ({
      typeName: "bundle" as const,
      ...drawOptions(context, drawScript(context, context.random.pick([0, 0, 1]))),
    })),
  });

/** Starts in a transaction of the caller's own, which does not always commit. */
const startInTransaction: Operation = async (leasehold, context) => {
  const { random, process } = context;
  const commits = random.chance(0.5);
  const starts = Array.from({ length: random.integer(1, 3) }, () => drawStart(context));
  await leasehold.runInTransaction(async () => {
    for (const start of starts) await leasehold.startJobSequence(start);
    if (random.chance(0.3)) await process.sleep(5);
    if (!commits) throw new ChangedMyMind();
  });
};

/** A caller that does not know what became of its start tries again with the same id. */
const startUntilCertain: Operation = async (leasehold, context) => {
  const first = await leasehold.startJobSequence(drawStart(context));
  await leasehold.startJobSequence({ ...drawStart(context), id: first.id });
};

const startChain: Operation = (leasehold, context) =>
  leasehold.startJobSequence({
    typeName: "chain",
    ...drawOptions(context, drawScript(context, context.random.integer(1, 3))),
    ...drawDeduplication(context),
  });

const startGather: Operation = (leasehold, context) => {
  const { random } = context;
  const task = async () => {
    const existing = random.chance(0.3)
      ? pickSequence(context, (typeName) => typeName === "task")
      : undefined;
    if (existing) return { id: existing.id, typeName: "task" as const };
    return leasehold.startJobSequence({ ...drawStart(context), typeName: "task" });
  };
  if (random.chance(0.6)) {
    return leasehold.startJobSequence({
      typeName: "gather",
      ...drawOptions(context, drawScript(context, 0)),
      startBlockers: async () => [await task(), await task()],
    });
  }
  return leasehold.startJobSequence({
    typeName: "patient",
    ...drawOptions(context, drawScript(context, 0)),
    startBlockers: async () => [
      await task(),
      await leasehold.startJobSequence({
        typeName: "chain",
        ...drawOptions(context, drawScript(context, 1)),
      }),
    ],
  });
};

const cancel: Operation = async (leasehold, context) => {
  const ids = [pickSequence(context, () => true)?.id, pickSequence(context, () => true)?.id];
  await leasehold.jobs.cancel({ ids: ids.filter((id) => id !== undefined) });
};

const redrive: Operation = async (leasehold, { random, jobs }) => {
  const dryRun = random.chance(0.2);
  if (random.chance(0.5)) return leasehold.jobs.redrive({ filter: {}, dryRun });
  const failed = jobs().filter(({ status }) => status === "failed");
  if (failed.length === 0) return undefined;
  return leasehold.jobs.redrive({ ids: [random.pick(failed).id], dryRun });
};

/** A job that was started without a timeout must not get a handler that never returns. */
const drawEndingScript = (context: OperationContext): Script => {
  const { script, hops } = drawScript(context, 0);
  return { script: script.filter((behaviour) => !needsTimeout([behaviour])), hops };
};

/** Also jobs that do not wait: those must be left as they are. */
const update: Operation = async (leasehold, context) => {
  const { random, jobs, plan } = context;
  const all = jobs();
  if (all.length === 0) return undefined;
  const waiting = all.filter(({ status }) => status === "pending" || status === "blocked");
  const pool = waiting.length > 0 && random.chance(0.8) ? waiting : all;
  const ids = [random.pick(pool).id, random.pick(pool).id];
  const dryRun = random.chance(0.1);
  if (random.chance(0.3)) return leasehold.jobs.update({ ids, dryRun, schedule: { afterMs: 0 } });
  return leasehold.jobs.update({
    ids,
    dryRun,
    priority: random.integer(-1, 1),
    ...(random.chance(0.5) && { schedule: { afterMs: Math.ceil(random.next() * plan.leaseMs) } }),
    ...(random.chance(0.5) && { typeName: "task" as const, input: drawEndingScript(context) }),
  });
};

const completeFromOutside: Operation = async (leasehold, context) => {
  const sequence = pickSequence(context, (typeName) => typeName === "chain" || typeName === "task");
  if (!sequence) return;
  await leasehold.completeJobSequence({
    id: sequence.id,
    typeName: sequence.typeName as "chain",
    complete: async ({ job, complete }) => {
      await complete(job as never, async () => "from outside");
    },
  });
};

const remove: Operation = async (leasehold, context) => {
  const sequence = pickSequence(context, () => true);
  if (sequence) await leasehold.deleteJobSequences({ rootSequenceIds: [sequence.rootSequenceId] });
};

const wait: Operation = async (leasehold, context) => {
  const sequence = pickSequence(context, (typeName) => typeName === "task");
  if (!sequence) return;
  const timeoutMs = context.plan.leaseMs * 3;
  await leasehold.waitForJobSequenceCompletion({ id: sequence.id, typeName: "task", timeoutMs });
};

const pickRecurring = ({ random }: OperationContext): string => random.pick(["recurring-a", "recurring-b"]);

/** For a few times only, so that everything can come to its end. */
const putRecurring: Operation = async (leasehold, context) => {
  const { random, plan } = context;
  const now = (await leasehold.getTime()).getTime();
  const overlap = random.pick(["skip", "queue_one", "replace", "allow"] as const);
  return leasehold.recurring.put({
    id: pickRecurring(context),
    everyMs: 1_000,
    anchorAt: new Date(now + random.integer(1, 1_000)),
    endAt: new Date(now + random.integer(500, 5_000)),
    overlap,
    catchUp:
      overlap === "allow" ? random.pick(["all", "last"] as const) : random.pick(["last", "none"] as const),
    jitterMs: random.pick([0, 0, 300]),
    // The script may want it.
    job: { typeName: "task", input: drawScript(context, 0), timeoutMs: Math.ceil(plan.leaseMs * 0.8) },
  });
};

const operateRecurring: Operation = (leasehold, context) => {
  const id = pickRecurring(context);
  return context.random.pick([
    () => leasehold.recurring.trigger({ id }),
    () => leasehold.recurring.trigger({ id }),
    () => leasehold.recurring.pause({ id }),
    () => leasehold.recurring.resume({ id }),
    () => leasehold.recurring.delete({ id }),
  ])();
};

/** How often each happens among all operations. */
const operations: readonly (readonly [weight: number, Operation])[] = [
  [4, startOne],
  [3, startMany],
  [2, startBurst],
  [2, startInTransaction],
  [1, startUntilCertain],
  [3, startChain],
  [4, startGather],
  [2, cancel],
  [3, redrive],
  [3, update],
  [2, completeFromOutside],
  [1, remove],
  [1, wait],
  [2, putRecurring],
  [1, operateRecurring],
  [4, startBundles],
];

const wheel = operations.flatMap(([weight, operation]) => Array.from({ length: weight }, () => operation));

export const operate = async (leasehold: MixedLeasehold, context: OperationContext): Promise<void> => {
  await context.random.pick(wheel)(leasehold, context);
};
