import { jobStatuses } from "leasehold/adapter";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { formatCount, formatDuration } from "../output/amounts.ts";
import { colourStatus } from "../output/job-table.ts";
import type { Output } from "../output/output.ts";
import { oneLine, shorten } from "../output/printable.ts";
import { type Cell, type Column, renderTable, type Row } from "../output/table.ts";
import { countByQueue, type QueueNumbers, sumCounts } from "../store/job-numbers.ts";

export interface StatsOptions {
  readonly queue?: readonly string[];
  /** How far back "lately" reaches. */
  readonly window: number;
}

const longestName = 28;

const columnsFor = (windowMs: number): readonly Column[] => {
  // "5m", without the spaces of "1m 30s".
  const lately = formatDuration(windowMs).replaceAll(" ", "");
  return [
    { title: "QUEUE", least: 8 },
    { title: "TYPE", least: 16 },
    { title: "BLOCKED", align: "right", dispensable: 2 },
    { title: "PENDING", align: "right" },
    { title: "RUNNING", align: "right" },
    { title: "DONE", align: "right" },
    { title: "FAILED", align: "right" },
    { title: `DONE ${lately}`, align: "right", dispensable: 3 },
    { title: `FAILED ${lately}`, align: "right", dispensable: 1 },
  ];
};

const numbers = ({ colours }: Output, row: QueueNumbers, lately: QueueNumbers | undefined): Row => {
  const cell = (count: number, paint: (text: string) => string = String): Cell => ({
    text: formatCount(count),
    paint: count === 0 ? colours.dim : paint,
  });
  const recent = lately?.counts ?? { completed: 0, failed: 0 };
  return [
    ...jobStatuses.map((status) => cell(row.counts[status], (text) => colourStatus(colours, status, text))),
    cell(recent.completed),
    cell(recent.failed, colours.red),
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
        renderTable(output, columnsFor(windowMs), [
          ...rows.map((row) => [
            shorten(oneLine(row.queue), longestName),
            shorten(oneLine(row.typeName), longestName),
            ...numbers(output, row, latelyOf(row)),
          ]),
          [
            "",
            { text: "all", paint: output.colours.bold },
            ...numbers(output, totalRow, { ...totalRow, counts: sumCounts(lately) }),
          ],
        ]),
      );
    }
    return exitCodes.done;
  });
