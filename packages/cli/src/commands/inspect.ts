import type { AnyJob, AnyJobSequence } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { renderInspection } from "../output/inspection.ts";
import { requireJob } from "../store/find-job.ts";

export interface InspectOptions {
  readonly stack: boolean;
}

const mostRelated = 100;

export const inspect = async (
  context: CommandContext,
  id: string,
  { stack }: InspectOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, stateAdapter }) => {
    const { output } = context;
    const job = await requireJob(leasehold, id);
    const explanation = await leasehold.explainJob({ id: job.id });
    const sequence = await leasehold.listSequenceJobs({ id: job.sequenceId, limit: mostRelated });
    const dependants = await leasehold.listBlockedJobs({ id: job.sequenceId, limit: mostRelated });
    const attempts = stateAdapter.history ? await leasehold.listJobAttempts({ id: job.id }) : null;
    const now = (await leasehold.getTime()).getTime();
    const inspection = {
      job,
      explanation,
      /** The latest first; null where the store keeps none. */
      attempts,
      blockers: job.blockers as readonly AnyJobSequence[],
      sequence: sequence.jobs as readonly AnyJob[],
      dependants: dependants.jobs as readonly AnyJob[],
      /** There are more of these than were read. */
      hasMore: { sequence: sequence.cursor !== null, dependants: dependants.cursor !== null },
    };
    if (output.json) output.printJson(inspection);
    else output.print(renderInspection(output, inspection, { now, stack }));
    return exitCodes.done;
  });
