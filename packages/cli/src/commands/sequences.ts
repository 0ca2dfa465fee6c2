import type { AnyJobSequence, JobStatus } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { renderSequences } from "../output/sequence-table.ts";
import { wholeId } from "../store/find-job.ts";

export interface SequencesOptions {
  readonly status?: readonly JobStatus[];
  readonly type?: readonly string[];
  readonly root?: string;
  readonly rootsOnly: boolean;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly limit: number;
  readonly cursor?: string;
  readonly order: "newest" | "oldest";
}

export const sequences = async (context: CommandContext, options: SequencesOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { status, type, root, rootsOnly, createdAfter, createdBefore, limit, cursor, order } = options;
    const page = await leasehold.listJobSequences({
      status,
      typeName: type,
      rootSequenceId: root === undefined ? undefined : await wholeId(leasehold, root),
      rootsOnly,
      createdFrom: createdAfter,
      createdBefore,
      limit,
      cursor,
      order,
    });
    const listed: readonly AnyJobSequence[] = page.sequences;
    if (output.json) output.printJson(page);
    else if (listed.length === 0 && page.cursor === null) output.note("No sequences.");
    else {
      if (listed.length > 0) output.print(renderSequences(output, listed));
      if (page.cursor !== null) output.note(`\nThere may be more: add --cursor ${page.cursor}`);
    }
    return exitCodes.done;
  });
