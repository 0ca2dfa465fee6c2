import type { LockSequenceCall, StateSequence } from "leasehold/adapter";
import type { Call, Context, Database } from "../database.ts";
import { lockCurrentJobs } from "../lock-current-jobs.ts";
import { asStateJob } from "../lock-jobs.ts";
import { getJobs } from "./get-jobs.ts";

export const lockSequence = async (
  database: Database,
  call: Call & LockSequenceCall & { readonly ctx: Context },
): Promise<StateSequence | undefined> => {
  const locked = (await lockCurrentJobs(database, call.ctx, [call.sequenceId])).get(call.sequenceId);
  if (locked === undefined) return undefined;
  const current = asStateJob(locked);
  if (current.id === call.sequenceId) return { first: current, current };
  const [first] = await getJobs(database, { ctx: call.ctx, jobIds: [call.sequenceId] });
  return first && { first, current };
};
