import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { oneLine } from "../output/text.ts";
import { requireJob } from "../store/find-job.ts";
import { type CommandContext, confirm } from "./context.ts";

export interface CompleteOptions {
  readonly output: unknown;
  readonly yes?: boolean;
}

/** Completes the job that a sequence has come to without a worker: an approval, or something done by hand. */
export const complete = async (
  context: CommandContext,
  id: string,
  { output: result, yes }: CompleteOptions,
): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const chosen = await requireJob(leasehold, id);
    await confirm(output, `Complete ${oneLine(chosen.typeName)} ${chosen.id}, which is ${chosen.status}?`, {
      yes,
    });
    const sequence = await leasehold.completeJobSequence({
      id: chosen.sequenceId,
      typeName: chosen.sequenceTypeName,
      complete: async ({ job, complete: completeJob }) => {
        // The id of a sequence is that of its first job, and means the sequence.
        if (chosen.id !== job.id && chosen.id !== chosen.sequenceId) {
          throw new CliError("NotCurrent", `The sequence has gone on from ${chosen.id} to ${job.id}.`, {
            exitCode: exitCodes.error,
            hint: `See \`leasehold inspect ${job.id}\`, and complete that one.`,
          });
        }
        await completeJob(job, async () => result ?? null);
      },
    });
    if (output.json) output.printJson({ sequence });
    else output.print(`${sequence.id}  ${sequence.status}`);
    return exitCodes.done;
  });
