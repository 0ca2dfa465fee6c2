import type { LeaseholdApi } from "../../leasehold-api.ts";
import type { WorkerBuilder } from "../../worker/api.ts";
import { sleep } from "../../base/runtime.ts";
import { UnrecoverableJobError } from "../../store/errors.ts";
import type { RetryPolicy } from "../../job-types/retry-policy.ts";
import type { StoryTransaction } from "../story.ts";
import type { StoryTypes } from "./job-types.ts";
import type { MortalProcess } from "./mortal-process.ts";

export type StoryLeasehold = LeaseholdApi<StoryTypes, StoryTransaction, string>;

/** What happens outside the store, and outlives every process of the story. */
export interface Outside {
  /** One entry for each time a handler has begun to work on a job: its type and its sequence. */
  readonly executions: string[];
  flakyHasFailed: boolean;
  mended: boolean;
}

const soon: RetryPolicy = { type: "fixed", delayMs: 20 };

/** A handler for every type except the workerless ones. */
export const createStoryWorker = (
  leasehold: StoryLeasehold,
  outside: Outside,
  process: Pick<MortalProcess, "alive" | "clock">,
  slowMs: number,
): WorkerBuilder<StoryTypes, StoryTransaction, string> =>
  leasehold
    .createWorker({ retry: soon })
    .use(async ({ job }, next) => {
      // What a dead process would still do never happened.
      if (process.alive) outside.executions.push(`${job.typeName} of ${job.sequenceId}`);
      return next();
    })
    .implementJobType({ typeName: "greet", process: async ({ job }) => `Hello ${job.input.name}` })
    .implementJobType({
      typeName: "flaky",
      process: async () => {
        if (outside.flakyHasFailed) return "at last";
        outside.flakyHasFailed = true;
        throw new Error("not this time");
      },
    })
    .implementJobType({
      typeName: "slow",
      process: async ({ signal }) => {
        await sleep(process.clock, slowMs);
        signal.throwIfAborted();
        return "done";
      },
    })
    .implementJobType({
      typeName: "progress",
      process: async ({ reportProgress }) => {
        await reportProgress({ percent: 50 });
        return "done";
      },
    })
    .implementJobType({
      typeName: "staged",
      process: async ({ prepare, complete }) => {
        const prepared = await prepare({ mode: "staged" }, async () => "prepared");
        return complete(async () => `${prepared} and completed`);
      },
    })
    .implementJobType({
      typeName: "atomic",
      process: async ({ prepare, complete }) => {
        const prepared = await prepare({ mode: "atomic" }, async () => "prepared");
        return complete(async () => `${prepared} and completed`);
      },
    })
    .implementJobType({
      typeName: "order",
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) => continueWith({ typeName: "ship", input: { n: job.input.n } })),
    })
    .implementJobType({ typeName: "ship", process: async ({ job }) => `shipped ${job.input.n}` })
    .implementJobType({ typeName: "part", process: async ({ job }) => job.input.n })
    .implementJobType({
      typeName: "assemble",
      process: async ({ job }) => {
        const [left, right] = job.blockers;
        return left.output + right.output;
      },
    })
    .implementJobType({
      typeName: "doomed",
      process: async () => {
        if (!outside.mended) throw new UnrecoverableJobError("cannot work like this");
        return "mended";
      },
    })
    .implementJobType({ typeName: "hopeful", process: async ({ job }) => `after ${job.blockers[0].output}` });
