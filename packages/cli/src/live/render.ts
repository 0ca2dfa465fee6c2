import { formatCount, formatDuration, formatRate } from "../output/amounts.ts";
import { colourStatus } from "../output/job-table.ts";
import type { Colours } from "../output/output.ts";
import { oneLine, shorten } from "../output/printable.ts";
import { renderTable } from "../output/table.ts";
import type { Latency, LiveRow, LiveSample } from "./sampler.ts";

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

const columns = [
  { title: "QUEUE" },
  { title: "TYPE" },
  ...["BLOCKED", "PENDING", "RUNNING", "DONE", "FAILED", "RATE", "P50", "P95"].map((title) => ({
    title,
    align: "right" as const,
  })),
];

const latencyCells = (latency: Latency | undefined): string[] =>
  latency === undefined ? ["–", "–"] : [formatDuration(latency.p50), formatDuration(latency.p95)];

const renderRow = ({ colours }: Screen, row: LiveRow): string[] => {
  const count = (status: keyof LiveRow["counts"]): string =>
    row.counts[status] === 0
      ? colours.dim("0")
      : colourStatus(colours, status, formatCount(row.counts[status]));
  return [
    shorten(oneLine(row.queue), 20),
    shorten(oneLine(row.typeName), 28),
    count("blocked"),
    count("pending"),
    count("running"),
    count("completed"),
    count("failed"),
    row.perSecond === 0 ? colours.dim("–") : colours.bold(formatRate(row.perSecond)),
    ...latencyCells(row.latency),
  ];
};

// Title, numbers, blank lines and the table's head.
const linesAround = 7;

/** On a small terminal the rows with the least going on are left out. */
const fitRows = (rows: readonly LiveRow[], room: number): readonly LiveRow[] => {
  if (rows.length <= room) return rows;
  const activity = ({ counts, perSecond }: LiveRow): number =>
    perSecond * 1_000 + counts.running * 100 + counts.pending + counts.blocked;
  const busiest = new Set(rows.toSorted((a, b) => activity(b) - activity(a)).slice(0, room));
  return rows.filter((row) => busiest.has(row));
};

/** A sample as a screen that fits the terminal. */
export const renderLive = (
  screen: Screen,
  sample: LiveSample,
  { title, footer }: { readonly title: string; readonly footer: readonly string[] },
): string => {
  const { colours } = screen;
  const { total, latency } = sample;
  const numbers = [
    `${colourStatus(colours, "blocked", formatCount(total.blocked))} blocked`,
    `${colourStatus(colours, "pending", formatCount(total.pending))} pending`,
    `${colourStatus(colours, "running", formatCount(total.running))} running`,
    `${colourStatus(colours, "completed", formatCount(total.completed))} done`,
    `${colourStatus(colours, "failed", formatCount(total.failed))} failed`,
  ];
  const pace = [
    `${colours.bold(formatRate(sample.perSecond))} ${colours.cyan(sparkline(sample.history))}`,
    ...(latency === undefined
      ? []
      : [`latency p50 ${formatDuration(latency.p50)}, p95 ${formatDuration(latency.p95)}`]),
  ];
  const room = Math.max(1, screen.rows - linesAround - footer.length);
  const shown = fitRows(sample.rows, room);
  const hidden = sample.rows.length - shown.length;
  return [
    `${colours.bold(title)}  ${colours.dim(sample.at.toISOString().slice(11, 19))}`,
    numbers.join("  "),
    pace.join("   "),
    "",
    renderTable(
      screen,
      columns,
      shown.map((row) => renderRow(screen, row)),
    ),
    ...(hidden > 0 ? [colours.dim(`and ${hidden} more`)] : []),
    ...(footer.length > 0 ? ["", ...footer] : []),
  ].join("\n");
};

/** A sample as one line, for logs. */
export const renderLine = ({ at, total, perSecond, latency }: LiveSample): string =>
  [
    at.toISOString().slice(11, 19),
    ...(["blocked", "pending", "running", "completed", "failed"] as const).map(
      (status) => `${status} ${total[status]}`,
    ),
    formatRate(perSecond),
    ...(latency === undefined
      ? []
      : [`p50 ${formatDuration(latency.p50)} p95 ${formatDuration(latency.p95)}`]),
  ].join("  ");
