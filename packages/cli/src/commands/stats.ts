import type { RecentlyFinishedJob } from "leasehold/adapter";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { formatCount, formatDuration } from "../output/amounts.ts";
import { colourStatus } from "../output/job-table.ts";
import type { Output } from "../output/output.ts";
import { oneLine, shorten } from "../output/printable.ts";
import { type Cell, type Column, renderTable, type Row } from "../output/table.ts";
import {
  countByQueue,
  countedStatuses,
  formatNumber,
  queueTypeKey,
  readBacklog,
  readRecent,
  type StatusNumbers,
  sumNumbers,
} from "../store/job-numbers.ts";

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
    { title: "FAILED", align: "right" },
    { title: `DONE ${lately}`, align: "right", dispensable: 3 },
    { title: `FAILED ${lately}`, align: "right", dispensable: 1 },
  ];
};

interface Lately {
  readonly completed: number;
  readonly failed: number;
}

const countLately = (jobs: readonly RecentlyFinishedJob[]): Lately => {
  const of = (status: RecentlyFinishedJob["status"]): number =>
    jobs.filter((job) => job.status === status).length;
  return { completed: of("completed"), failed: of("failed") };
};

const cells = ({ colours }: Output, row: StatusNumbers, lately: Lately, isCut: boolean): Row => {
  const cell = (count: number, text: string, paint: (text: string) => string = String): Cell => ({
    text,
    paint: count === 0 ? colours.dim : paint,
  });
  const recent = (count: number): string => `${formatCount(count)}${isCut ? "+" : ""}`;
  return [
    ...countedStatuses.map((status) =>
      cell(row.counts[status], formatNumber(row, status), (text) => colourStatus(colours, status, text)),
    ),
    cell(lately.completed, recent(lately.completed)),
    cell(lately.failed, recent(lately.failed), colours.red),
  ];
};

export const stats = async (
  context: CommandContext,
  { queue, window: windowMs }: StatsOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, stateAdapter, label }) => {
    const { output } = context;
    const from = (await leasehold.getTime()).getTime() - windowMs;
    const recent = await readRecent(stateAdapter, { from, queue });
    const rows = countByQueue(await readBacklog(stateAdapter, { queue }), recent.jobs).map((row) => ({
      ...row,
      lately: countLately(recent.jobs.filter((job) => queueTypeKey(job) === queueTypeKey(row))),
    }));
    const total = { ...sumNumbers(rows), lately: countLately(recent.jobs) };
    if (output.json) {
      output.printJson({ total, queues: rows, lately: { since: new Date(from), isCut: recent.isCut } });
    } else if (rows.length === 0)
      output.note(`Nothing waits, runs, has failed or finished lately in ${label}.`);
    else {
      const cellsOf = (row: (typeof rows)[number] | typeof total): Row =>
        cells(output, row, row.lately, recent.isCut);
      output.print(
        renderTable(output, columnsFor(windowMs), [
          ...rows.map((row) => [
            shorten(oneLine(row.queue), longestName),
            shorten(oneLine(row.typeName), longestName),
            ...cellsOf(row),
          ]),
          ["", { text: "all", paint: output.colours.bold }, ...cellsOf(total)],
        ]),
      );
    }
    return exitCodes.done;
  });
