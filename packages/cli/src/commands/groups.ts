import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { formatCount } from "leasehold/adapter";
import { formatMoment } from "../output/amounts.ts";
import { oneLine, shorten } from "../output/printable.ts";
import { type Column, renderTable } from "../output/table.ts";

export interface GroupsOptions {
  readonly queue?: string;
  readonly held: boolean;
  readonly running: boolean;
  readonly top: number;
}

const columns: readonly Column[] = [
  { title: "GROUP", least: 12 },
  { title: "WAITING", align: "right" },
  { title: "OLDEST", align: "right" },
  { title: "RUNNING", align: "right" },
  { title: "HELD BY" },
];

const longestName = 40;
// The store counts no further.
const mostCounted = 1_000;

export const listGroups = (
  context: CommandContext,
  typeName: string,
  { queue, held, running, top }: GroupsOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, label }) => {
    const { output } = context;
    const groups = await leasehold.listGroups({
      typeName,
      queue,
      held: held ? true : undefined,
      order: running ? "running" : "waiting",
      limit: top,
    });
    if (output.json) {
      output.printJson({ groups });
      return exitCodes.done;
    }
    if (groups.length === 0) {
      output.note(`No group of ${oneLine(typeName)} has ${held ? "jobs held back" : "jobs"} in ${label}.`);
      return exitCodes.done;
    }
    const now = (await leasehold.getTime()).getTime();
    const rows = groups.map(({ group, waiting, waitingSince, running: runs, heldBy, stoppedBy }) => [
      shorten(oneLine(group), longestName),
      `${formatCount(waiting)}${waiting >= mostCounted ? "+" : ""}`,
      waitingSince === null ? "" : formatMoment(waitingSince, now),
      formatCount(runs),
      heldBy === null
        ? ""
        : { text: stoppedBy === null ? heldBy : `${heldBy} by ${stoppedBy}`, paint: output.colours.yellow },
    ]);
    output.print(renderTable(output, columns, rows));
    return exitCodes.done;
  });
