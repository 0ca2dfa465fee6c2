import { formatCount, formatDuration } from "leasehold/adapter";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { colourStatus } from "../output/job-tables.ts";
import type { Output } from "../output/output.ts";
import { type Cell, type Column, renderTable, type Row } from "../output/table.ts";
import { oneLine, shorten } from "../output/text.ts";
import {
  countByQueue,
  countedStatuses,
  formatNumber,
  queueTypeKey,
  readBacklog,
  readCountedWork,
  readRecent,
  type StatusNumbers,
  sumNumbers,
} from "../store/numbers.ts";
import type { OpenedStore } from "../store/store.ts";
import type { CommandContext } from "./context.ts";

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

/** What finished of each type, as processes have counted it, else in a sample of the jobs. */
interface RecentWork {
  readonly types: readonly (Lately & { readonly queue: string; readonly typeName: string })[];
  /** There may be more: the sample was full. */
  readonly isCut: boolean;
}

const readWork = async (
  { leasehold, stateAdapter }: OpenedStore,
  range: { readonly from: number; readonly now: number; readonly queue: readonly string[] | undefined },
): Promise<RecentWork> => {
  const counted = await readCountedWork(leasehold, stateAdapter, range);
  if (counted !== undefined) return { types: counted.types, isCut: false };
  const { jobs, isCut } = await readRecent(stateAdapter, range);
  const types = jobs.map(({ queue, typeName, status }) => ({
    queue,
    typeName,
    completed: status === "completed" ? 1 : 0,
    failed: status === "failed" ? 1 : 0,
  }));
  return { types, isCut };
};

const sumLately = (types: readonly Lately[]): Lately => ({
  completed: types.reduce((sum, { completed }) => sum + completed, 0),
  failed: types.reduce((sum, { failed }) => sum + failed, 0),
});

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
  context.withStore({}, async (store) => {
    const { output } = context;
    const { leasehold, stateAdapter, label } = store;
    const now = (await leasehold.getTime()).getTime();
    const from = now - windowMs;
    const recent = await readWork(store, { from, now, queue });
    const rows = countByQueue(await readBacklog(stateAdapter, { queue }), recent.types).map((row) => ({
      ...row,
      lately: sumLately(recent.types.filter((type) => queueTypeKey(type) === queueTypeKey(row))),
    }));
    const total = { ...sumNumbers(rows), lately: sumLately(recent.types) };
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
