import { type AnyJob, describeJobTypes } from "leasehold";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { oneLine } from "../output/text.ts";
import { requireJob } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";

export interface CompleteOptions {
  readonly output?: unknown;
  readonly continueWith?: string;
  readonly input?: unknown;
  readonly ends?: boolean;
  readonly yes?: boolean;
}

const usage = (message: string, hint: string): CliError =>
  new CliError("Usage", message, { exitCode: exitCodes.usage, hint });

const checkOptions = ({ output, continueWith, input, ends }: CompleteOptions): void => {
  if (continueWith === undefined) {
    if (input !== undefined)
      throw usage("--input is for the job that follows.", "Name its type with --continue-with.");
    return;
  }
  if (output !== undefined || ends === true)
    throw usage(
      "A job either ends its sequence with an output, or is continued by another job.",
      "Leave out --continue-with, or --output and --ends.",
    );
};

/** A sequence that may continue must not end because this process does not know its types. */
const requireKnownEnd = (
  leasehold: AnyLeasehold,
  { typeName }: AnyJob,
  { continueWith, ends }: CompleteOptions,
): void => {
  if (continueWith !== undefined || ends === true) return;
  if ((describeJobTypes(leasehold).get(typeName)?.continuesTo ?? null) !== null) return;
  throw new CliError(
    "ContinuationsUnknown",
    `Whether ${oneLine(typeName)} is to be followed by another job is not known here.`,
    {
      exitCode: exitCodes.usage,
      hint: "Pass --continue-with <type>, or --ends if nothing follows; or a config module whose jobTypes come from defineJobTypes.",
    },
  );
};

/** The types of job types that are not known here have no continuations. */
interface Step {
  continueWith(next: { readonly typeName: string; readonly input: unknown }): Promise<unknown>;
}

/** Completes the job that a sequence has come to without a worker: an approval, or something done by hand. */
export const complete = async (
  context: CommandContext,
  id: string,
  options: CompleteOptions,
): Promise<ExitCode> => {
  checkOptions(options);
  const { output: result = null, continueWith, input = null, yes } = options;
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const chosen = await requireJob(leasehold, id);
    requireKnownEnd(leasehold, chosen, options);
    const then = continueWith === undefined ? "" : `, and continue with ${oneLine(continueWith)}`;
    await confirm(
      output,
      `Complete ${oneLine(chosen.typeName)} ${chosen.id}, which is ${chosen.status}${then}?`,
      { yes },
    );
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
        await completeJob(job, async (step) =>
          continueWith === undefined
            ? result
            : (step as Step).continueWith({ typeName: continueWith, input }),
        );
      },
    });
    if (output.json) output.printJson({ sequence });
    else output.print(`${sequence.id}  ${sequence.status}`);
    return exitCodes.done;
  });
};
