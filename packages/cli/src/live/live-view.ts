import { type AnyStateAdapter, formatCount, formatDuration, plural } from "leasehold/adapter";
import { createLogUpdate } from "log-update";
import pc from "picocolors";
import { colourStatus } from "../output/job-tables.ts";
import type { Colours } from "../output/output.ts";
import { type Cell, type Column, renderTable, type Row } from "../output/table.ts";
import { formatRate, oneLine, shorten, textWidth } from "../output/text.ts";
import {
  type CountedStatus,
  countedStatuses,
  formatNumber,
  type StatisticsSource,
  type Workers,
} from "../store/numbers.ts";
import { createSampler, type LiveRow, type LiveSample } from "./sampler.ts";

export interface Screen {
  readonly colours: Colours;
  readonly columns: number;
  readonly rows: number;
}

const bars = "▁▂▃▄▅▆▇█";

const sparkline = (values: readonly number[]): string => {
  const highest = Math.max(...values, 1e-9);
  return values.map((value) => bars[Math.round((value / highest) * (bars.length - 1))]).join("");
};

const columns: readonly Column[] = [
  { title: "QUEUE", least: 8 },
  { title: "TYPE", least: 16 },
  { title: "BLOCKED", align: "right", dispensable: 1 },
  { title: "PENDING", align: "right" },
  { title: "RUNNING", align: "right" },
  { title: "FAILED", align: "right" },
  { title: "RATE", align: "right" },
];
/** Of a sample: from creation to completion. */
const latencyColumns: readonly Column[] = [
  { title: "P50", align: "right", dispensable: 2 },
  { title: "P95", align: "right", dispensable: 3 },
];
/** As processes have counted: from when a job could have run until it did, and how long it ran. */
const countedColumns: readonly Column[] = [
  { title: "START P95", align: "right", dispensable: 2 },
  { title: "RUN P95", align: "right", dispensable: 3 },
];
/** Only there while something is held back. */
const heldColumn: Column = { title: "HELD" };

const formatTime = (ms: number | undefined): string => (ms === undefined ? "–" : formatDuration(ms));

const renderRow = ({ colours }: Screen, row: LiveRow, isCounted: boolean): Row => {
  const count = (status: CountedStatus): Cell => ({
    text: formatNumber(row, status),
    paint: row.counts[status] === 0 ? colours.dim : (text) => colourStatus(colours, status, text),
  });
  return [
    shorten(oneLine(row.queue), 20),
    shorten(oneLine(row.typeName), 28),
    count("blocked"),
    count("pending"),
    count("running"),
    count("failed"),
    { text: formatRate(row.perSecond), paint: row.perSecond === 0 ? colours.dim : colours.bold },
    ...(isCounted
      ? [formatTime(row.timeToStart?.p95), formatTime(row.runTime?.p95)]
      : [formatTime(row.latency?.p50), formatTime(row.latency?.p95)]),
    { text: row.held ?? "", paint: colours.yellow },
  ];
};

/** On a small terminal the rows with the least going on are left out. */
const fitRows = (rows: readonly LiveRow[], room: number): readonly LiveRow[] => {
  if (rows.length <= room) return rows;
  const activity = ({ counts, perSecond }: LiveRow): number =>
    perSecond * 1_000 + counts.running * 100 + counts.pending + counts.blocked;
  const busiest = new Set(rows.toSorted((a, b) => activity(b) - activity(a)).slice(0, room));
  return rows.filter((row) => busiest.has(row));
};

/** One after another, on as many lines as they take. */
const flow = ({ columns: room }: Screen, pieces: readonly Cell[]): string[] => {
  const lines: { text: string; width: number }[] = [];
  for (const { text, paint = String } of pieces) {
    const last = lines.at(-1);
    const fitting = shorten(text, room);
    const width = textWidth(fitting);
    if (last !== undefined && last.width + 2 + width <= room) {
      last.text += `  ${paint(fitting)}`;
      last.width += 2 + width;
    } else lines.push({ text: paint(fitting), width });
  }
  return lines.map(({ text }) => text);
};

const describeWorkers = ({ count, running, slots }: Workers): string =>
  count === 0
    ? "no live worker"
    : `${plural(count, "worker")}, ${formatCount(running)} of ${formatCount(slots)} slots busy`;

/** A sample as a screen that fits the terminal. */
export const renderLive = (
  screen: Screen,
  sample: LiveSample,
  { title, footer }: { readonly title: string; readonly footer: readonly string[] },
): string => {
  const { colours } = screen;
  const { total, latency, workers } = sample;
  const isCounted = workers !== undefined;
  const number = (status: CountedStatus): Cell => ({
    text: `${formatNumber(total, status)} ${status}`,
    paint: (text) => text.replace(/^\S+/, (count) => colourStatus(colours, status, count)),
  });
  const rate: Cell = { text: formatRate(sample.perSecond), paint: colours.bold };
  const pace: readonly Cell[] = [
    rate,
    { text: sparkline(sample.history), paint: colours.cyan },
    ...(latency === undefined
      ? []
      : [{ text: `latency p50 ${formatDuration(latency.p50)}, p95 ${formatDuration(latency.p95)}` }]),
    ...(workers === undefined ? [] : [{ text: describeWorkers(workers) }]),
  ];
  const time = sample.at.toISOString().slice(11, 19);
  const head = [
    `${colours.bold(shorten(title, screen.columns - time.length - 2))}  ${colours.dim(time)}`,
    ...flow(screen, countedStatuses.map(number)),
    ...flow(screen, pace),
    "",
  ];
  const foot = footer.length > 0 ? ["", ...footer] : [];
  // One for the head of the table, one for what is left out, and one for the cursor.
  const room = Math.max(1, screen.rows - head.length - foot.length - 3);
  const shown = fitRows(sample.rows, room);
  const hidden = sample.rows.length - shown.length;
  return [
    ...head,
    renderTable(
      screen,
      [
        ...columns,
        ...(isCounted ? countedColumns : latencyColumns),
        ...(shown.some(({ held }) => held !== undefined) ? [heldColumn] : []),
      ],
      shown.map((row) => renderRow(screen, row, isCounted)),
    ),
    ...(hidden > 0 ? [colours.dim(`and ${hidden} more`)] : []),
    ...foot,
  ].join("\n");
};

/** A sample as one line, for logs. */
export const renderLine = ({ at, total, perSecond, latency }: LiveSample): string =>
  [
    at.toISOString().slice(11, 19),
    ...countedStatuses.map((status) => `${status} ${formatNumber(total, status)}`),
    formatRate(perSecond),
    ...(latency === undefined
      ? []
      : [`p50 ${formatDuration(latency.p50)} p95 ${formatDuration(latency.p95)}`]),
  ].join("  ");

/** Options of `createLiveView`. */
export interface LiveViewOptions {
  readonly stateAdapter: AnyStateAdapter;
  /** The Leasehold of this store. With it, rates and times are what processes have counted; otherwise those of a sample. */
  readonly leasehold?: StatisticsSource | undefined;
  readonly title: string;
  /** Only these queues. Default: all. */
  readonly queue?: readonly string[] | undefined;
  /** Default: stdout. */
  readonly stream?: NodeJS.WriteStream | undefined;
}

/** The table of `leasehold top` in a program of your own. */
export interface LiveView {
  /** Samples the store and prints the result: in place on a terminal, as one more line elsewhere. */
  update(footer?: readonly string[]): Promise<LiveSample>;
  /** Leaves the last picture where it is. */
  end(): void;
}

const fallbackColumns = 120;

const fallbackRows = 40;

/** The live table of `leasehold top`, for a program of your own. */
export const createLiveView = async ({
  stateAdapter,
  leasehold,
  title,
  queue,
  stream = process.stdout,
}: LiveViewOptions): Promise<LiveView> => {
  const sample = createSampler({ stateAdapter, leasehold, queue });
  const rewritable = stream.isTTY && process.env["TERM"] !== "dumb";
  const draw = rewritable ? createLogUpdate(stream) : undefined;
  const colours = pc.createColors(rewritable && pc.isColorSupported);
  return {
    update: async (footer = []) => {
      const taken = await sample();
      if (draw === undefined) stream.write(`${renderLine(taken)}\n`);
      else {
        const screen = {
          colours,
          columns: stream.columns ?? fallbackColumns,
          rows: stream.rows ?? fallbackRows,
        };
        draw(renderLive(screen, taken, { title, footer }));
      }
      return taken;
    },
    end: () => draw?.done(),
  };
};
