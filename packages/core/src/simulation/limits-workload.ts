import type { RateLimit, LimitRuleChange } from "../store/contract/limits.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { requirePart } from "../store/parts.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import { behave, drawBehaviours, needsTimeout } from "./behaviours.ts";
import {
  type LimitsDefinitions,
  limitsJobTypes,
  type LimitsLeasehold,
  ruledQueue,
  withGroups,
} from "./limits-job-types.ts";
import type { OperationContext, SimulationWorkload } from "./workload.ts";

type Operation = (leasehold: LimitsLeasehold, context: OperationContext) => Promise<unknown>;

const typeNames = ["grouped", "sorted", "strict"] as const;

const groups = ["a", "b", "c"] as const;

const drawStart = ({ random, process, plan }: OperationContext) => {
  const script = drawBehaviours(random, process.strengthOf, plan.leaseMs);
  return {
    typeName: random.pick(["grouped", "grouped", "sorted", "sorted", "strict", "free"] as const),
    input: { script, hops: 0, group: random.chance(0.15) ? null : random.pick(groups) },
    priority: random.integer(-1, 1),
    ...(random.chance(0.2) && { schedule: { afterMs: Math.ceil(random.next() * 2 * plan.leaseMs) } }),
    ...(random.chance(0.3) && { maxAttempts: random.integer(1, 5) }),
    ...((needsTimeout(script) || random.chance(0.3)) && { timeoutMs: Math.ceil(plan.leaseMs * 0.8) }),
  };
};

const startMany: Operation = (leasehold, context) =>
  leasehold.startJobSequences({
    sequences: Array.from({ length: context.random.integer(2, 8) }, () => drawStart(context)),
  });

class ChangedMyMind extends Error {}

const startInTransaction: Operation = async (leasehold, context) => {
  const { random } = context;
  const commits = random.chance(0.5);
  const starts = Array.from({ length: random.integer(1, 3) }, () => drawStart(context));
  await leasehold.runInTransaction(async () => {
    for (const start of starts) await leasehold.startJobSequence(start);
    if (!commits) throw new ChangedMyMind();
  });
};

const drawRate = (random: SeededRandom, leaseMs: number): RateLimit => {
  const limit = random.integer(3, 8);
  return { limit, perMs: leaseMs, burst: random.chance(0.3) ? null : random.integer(1, limit) };
};

const drawChange = ({ random, plan }: OperationContext): LimitRuleChange =>
  random.pick<() => LimitRuleChange>([
    () => ({ concurrency: random.integer(1, 4) }),
    () => ({ concurrency: random.chance(0.3) ? null : 1 }),
    () => ({ rate: random.chance(0.3) ? null : drawRate(random, plan.leaseMs) }),
    () => ({ perGroup: random.chance(0.2) ? null : { concurrency: random.integer(1, 2), rate: null } }),
    () => ({ perGroup: { concurrency: null, rate: drawRate(random, plan.leaseMs) } }),
    () => ({ paused: random.chance(0.5) }),
    () => ({ paused: true, pauseUntil: { afterMs: Math.ceil(random.next() * plan.leaseMs) } }),
    () => ({ weights: { a: random.integer(1, 4) } }),
  ])();

const changeRule: Operation = (_leasehold, context) => {
  const limits = requirePart(context.store, "limits", "The simulation of groups and rules");
  const typeName = context.random.pick([null, ...typeNames]);
  return limits.setRule({ queue: ruledQueue, typeName, change: drawChange(context) });
};

const resume: Operation = (_leasehold, { random, store }) =>
  requirePart(store, "limits", "The simulation of groups and rules").resumeGroup({
    queue: ruledQueue,
    typeName: random.pick(typeNames),
    group: random.pick(groups),
  });

const pauseGroup: Operation = (_leasehold, { random, store, plan }) =>
  requirePart(store, "limits", "The simulation of groups and rules").pauseGroup({
    queue: ruledQueue,
    typeName: random.pick(typeNames),
    group: random.pick(groups),
    until: random.chance(0.2) ? null : { afterMs: Math.ceil(random.next() * plan.leaseMs) },
  });

const pickJob = ({ random, jobs }: OperationContext) => {
  const all = jobs();
  return all.length === 0 ? undefined : random.pick(all);
};

const cancel: Operation = async (leasehold, context) => {
  const job = pickJob(context);
  if (job) await leasehold.jobs.cancel({ ids: [job.sequenceId] });
};

const redrive: Operation = (leasehold) => leasehold.jobs.redrive({ filter: {} });

const remove: Operation = async (leasehold, context) => {
  const job = pickJob(context);
  if (job) await leasehold.deleteJobSequences({ rootSequenceIds: [job.rootSequenceId] });
};

const completeFromOutside: Operation = async (leasehold, context) => {
  const job = pickJob(context);
  if (!job) return;
  await leasehold.completeJobSequence({
    id: job.sequenceId,
    typeName: job.typeName as "grouped",
    complete: async ({ job: current, complete }) => {
      await complete(current as never, async () => "from outside");
    },
  });
};

/** How often each happens among all operations. */
const operations: readonly (readonly [weight: number, Operation])[] = [
  [6, startMany],
  [1, startInTransaction],
  [4, changeRule],
  [1, resume],
  [1, pauseGroup],
  [1, cancel],
  [1, redrive],
  [1, completeFromOutside],
  [1, remove],
];

const wheel = operations.flatMap(([weight, operation]) => Array.from({ length: weight }, () => operation));

/** Lifts every pause and lets stopped groups go on, so that everything can come to its end. */
const calm = async (store: AnyStateAdapter): Promise<void> => {
  const limits = requirePart(store, "limits", "The simulation of groups and rules");
  for (const typeName of [null, ...typeNames])
    await limits.setRule({ queue: ruledQueue, typeName, change: { paused: false } });
  for (const typeName of typeNames)
    for (const group of groups) await limits.resumeGroup({ queue: ruledQueue, typeName, group });
};

/** Groups, limits, rates, order and pauses, all changing while jobs run. */
export const limitsWorkload: SimulationWorkload<LimitsDefinitions> = {
  jobTypes: limitsJobTypes,
  createWorker: (leasehold, process) => {
    const worker = leasehold.createWorker({ retry: { type: "exponential", baseMs: 40, maxMs: 300 } });
    for (const typeName of ["free", ...typeNames] as const) {
      worker.implementJobType({
        typeName,
        process: (options) => behave(process, options as never, undefined) as never,
      });
    }
    return worker;
  },
  operate: async (leasehold, context) => {
    await context.random.pick(wheel)(leasehold, context);
  },
  prepareStore: withGroups,
  calm,
};
