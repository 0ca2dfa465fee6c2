import { requireFunction, requireId, requireName, requirePlainObject } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { resolveTransaction, runAtomically } from "../engine/operation.ts";
import { requireTypeName } from "../job-types/registry.ts";
import type { StateJob, StateSequence } from "../store/contract/job.ts";
import {
  JobAlreadyCompletedError,
  JobAlreadyFailedError,
  JobNotFoundError,
  ProcessMisuseError,
} from "../store/errors.ts";
import { completeAll, type CompletionCallback } from "./complete.ts";
import { type JobView, viewFields, viewJobs } from "./view.ts";

const knownOptions = { ...viewFields, complete: true } as const;

/**
 * Completes jobs of a sequence without a worker: for approvals, webhooks and the like. The callback may complete one job
 * and leave the next pending, or complete several in a row.
 */
export const completeJobSequence = async (engine: Engine, passed: unknown): Promise<StateSequence> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "completeJobSequence", options, knownOptions);
  const id = requireId(options["id"], "id");
  const typeName = requireName(options["typeName"], "typeName");
  const callback = requireFunction(options["complete"], "complete");

  return runAtomically(engine, "completeJobSequence", ctx, async (inner, afterCommit) => {
    const sequence = await engine.store.lockSequence({ ctx: inner, sequenceId: id });
    if (!sequence) throw new JobNotFoundError(id, "job sequence");
    requireTypeName(typeName, sequence.first.typeName, "sequence");
    let current: StateJob | null = sequence.current;

    const completeCurrent = async (passedJob: unknown, completion: unknown): Promise<JobView> => {
      const jobId = requireId(requirePlainObject(passedJob, "job")["id"], "job.id");
      requireFunction(completion, "complete");
      const job = current;
      if (job?.id !== jobId) {
        throw new ProcessMisuseError(
          "complete takes the current job of the sequence, or what the last call returned",
        );
      }
      if (job.status === "completed") throw new JobAlreadyCompletedError(job.id);
      if (job.status === "failed") throw new JobAlreadyFailedError(job.id, job.failureReason);
      const { continuations } = await completeAll(engine, inner, afterCommit, {
        members: [{ job, leaseToken: null }],
        workerId: null,
        callback: completion as CompletionCallback,
      });
      // If a handler runs it somewhere, its result no longer counts.
      if (job.status === "running") afterCommit.notify("jobOwnershipLost", job.id);
      current = continuations.get(job.id) ?? null;
      const [after] = await engine.store.getJobs({ ctx: inner, jobIds: [current?.id ?? job.id] });
      const [view] = await viewJobs(engine, inner, [after!]);
      return view!;
    };

    const open = new Set<Promise<JobView>>();
    const complete = (passedJob: unknown, completion: unknown): Promise<JobView> => {
      const call = completeCurrent(passedJob, completion);
      const close = (): void => {
        open.delete(call);
      };
      open.add(call);
      call.then(close, close);
      return call;
    };

    const [job] = await viewJobs(engine, inner, [sequence.current]);
    await (callback as (options: object) => unknown)({ ...inner, job, complete });
    if (open.size > 0) {
      // Not before it has ended: what it still writes must be rolled back too.
      await Promise.allSettled(open);
      throw new ProcessMisuseError(
        "The callback ended while `complete` was still running. Write `await complete(…)`",
      );
    }
    const [after] = await engine.store.getSequences({ ctx: inner, sequenceIds: [id] });
    return after!;
  });
};
