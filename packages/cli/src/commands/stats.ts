import { jobStatuses } from "leasehold/adapter";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { formatCount, formatDuration } from "../output/amounts.ts";
import { colourStatus } from "../output/job-table.ts";
import type { Output } from "../output/output.ts";
import { oneLine } from "../output/printable.ts";
import { renderTable } from "../output/table.ts";
import { countByQueue, type QueueNumbers, sumCounts } from "../store/job-numbers.ts";

export interface StatsOptions {
  readonly queue?: readonly string[];
  /** How far back "lately" reaches. */
  readonly window: number;
}

const columns = [
  { title: "QUEUE" },
  { title: "TYPE" },
  ...jobStatuses.map((status) => ({ title: status.toUpperCase(), align: "right" as const })),
  { title: "DONE LATELY", align: "right" as const },
  { title: "FAILED LATELY", align: "right" as const },
];

const numbers = (output: Output, row: QueueNumbers, lately: QueueNumbers | undefined): string[] => {
  const { colours } = output;
  const faint = (count: number, text: string): string => (count === 0 ? colours.dim("0") : text);
  const recent = lately?.counts ?? { completed: 0, failed: 0 };
  return [
    ...jobStatuses.map((status) =>
      faint(row.counts[status], colourStatus(colours, status, formatCount(row.counts[status]))),
    ),
    faint(recent.completed, formatCount(recent.completed)),
    faint(recent.failed, colours.red(formatCount(recent.failed))),
  ];
};

export const stats = async (
  context: CommandContext,
  { queue, window: windowMs }: StatsOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, stateAdapter, label }) => {
    const { output } = context;
    const rows = await countByQueue(leasehold, { queue });
    const since = new Date((await stateAdapter.getTime()) - windowMs);
    const lately = await countByQueue(leasehold, { queue, finishedFrom: since });
    const total = sumCounts(rows);
    if (output.json) {
      output.printJson({ total, queues: rows, lately: { since, total: sumCounts(lately), queues: lately } });
    } else if (rows.length === 0) output.note(`No jobs in ${label}.`);
    else {
      const latelyOf = ({ queue, typeName }: QueueNumbers): QueueNumbers | undefined =>
        lately.find((row) => row.queue === queue && row.typeName === typeName);
      const totalRow = { queue: "", typeName: "", counts: total };
      output.print(
        renderTable(output, columns, [
          ...rows.map((row) => [
            oneLine(row.queue),
            oneLine(row.typeName),
            ...numbers(output, row, latelyOf(row)),
          ]),
          [
            "",
            output.colours.bold("all"),
            ...numbers(output, totalRow, { ...totalRow, counts: sumCounts(lately) }),
          ],
        ]),
      );
      output.note(`\nLately: in the last ${formatDuration(windowMs)}.`);
    }
    return exitCodes.done;
  });
