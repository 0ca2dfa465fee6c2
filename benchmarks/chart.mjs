// The picture of a run: a panel per phase, a bar per system. Colours follow the reader's light or dark theme.
import { createMedians } from "./medians.mjs";
import { systems } from "./systems/index.mjs";

const panels = [
  { phase: "start_single", title: "Single starts, one after another" },
  { phase: "start_concurrent", title: "Single starts, 50 callers at once" },
  { phase: "start_bulk", title: "Bulk start" },
  { phase: "steady", title: "Bulk producer and worker together" },
  { phase: "drain_c10", title: "Drain, concurrency 10" },
  { phase: "drain_c100", title: "Drain, concurrency 100" },
  { phase: "drain_tx", title: "Drain, with a write in the same transaction¹" },
  {
    phase: "latency",
    field: "p50",
    title: "Start to handler, median (less is better)",
    unit: "ms",
    digits: 1,
  },
];

const columns = 2;
const panelWidth = 430;
const labelWidth = 164;
const valueWidth = 70;
const rowHeight = 20;
const barHeight = 12;
const titleHeight = 30;
const gap = 26;
const margin = 24;
const headHeight = 52;
const footHeight = 88;

const style = `
  .ground { fill: #ffffff; stroke: #d8dee4 }
  text { font: 12px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .head { font-size: 17px; font-weight: 600 }
  .title { font-weight: 600 }
  .quiet { fill: #59636e }
  .own { font-weight: 600 }
  .bar { fill: #b6bfca }
  .bar.own { fill: #0f766e }
  .bar.bare { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 }
  .axis { stroke: #d8dee4 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #30363d }
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .bar { fill: #484f58 }
    .bar.own { fill: #2dd4bf }
    .bar.bare { stroke: #7d8590 }
    .axis { stroke: #30363d }
  }`;

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const text = (x, y, content, { kind = "", anchor = "start" } = {}) =>
  `<text x="${x}" y="${y}"${kind && ` class="${kind}"`}${anchor === "start" ? "" : ` text-anchor="${anchor}"`}>${escape(content)}</text>`;

const kindOf = (system) => ({ leasehold: "own", "bare-sql": "bare" })[system] ?? "";

const drawRow = ({ system, value }, row, { longest, digits, unit }) => {
  const y = titleHeight + row * rowHeight;
  const width = Math.max(1, (value / longest) * (panelWidth - labelWidth - valueWidth));
  const figure = value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  const kind = kindOf(system);
  const middle = y + rowHeight / 2;
  return [
    text(labelWidth - 8, middle + 4, systems[system].title, {
      kind: kind === "own" ? "own" : "quiet",
      anchor: "end",
    }),
    `<rect class="bar ${kind}" x="${labelWidth}" y="${middle - barHeight / 2}" width="${width.toFixed(1)}" height="${barHeight}" rx="2"/>`,
    text(labelWidth + width + 6, middle + 4, unit ? `${figure} ${unit}` : figure, {
      kind: kind === "own" ? "own" : "",
    }),
  ].join("");
};

const drawPanel = ({ title, digits = 0, unit = "", bars }, x, y) => {
  const longest = Math.max(...bars.map(({ value }) => value));
  const bottom = titleHeight + bars.length * rowHeight;
  return [
    `<g transform="translate(${x} ${y})">`,
    text(0, 16, title, { kind: "title" }),
    `<line class="axis" x1="${labelWidth}" x2="${labelWidth}" y1="${titleHeight - 2}" y2="${bottom + 2}"/>`,
    ...bars.map((bar, row) => drawRow(bar, row, { longest, digits, unit })),
    "</g>",
  ].join("\n");
};

const notes = (repetitions) => [
  `Median of ${repetitions}. Bare SQL is the least that a queue with leases has to do, without a library.`,
  "PostgreSQL waits for the disk at every commit; Redis writes to it once a second, as BullMQ recommends.",
  "Leasehold, pg-boss and bare SQL keep finished jobs; graphile-worker and BullMQ, as set up here, delete them.",
  "¹ graphile-worker and BullMQ complete the job after the write, on its own: a crash in between repeats the write.",
];

/**
 * @param {readonly object[]} records
 * @returns {string} an SVG document
 */
export const drawChart = (records) => {
  const medians = createMedians(records);
  const drawn = panels
    .map((panel) => ({
      ...panel,
      bars: Object.keys(systems)
        .map((system) => ({ system, value: medians(system, panel.phase, panel.field) }))
        .filter(({ value }) => value !== undefined),
    }))
    .filter(({ bars }) => bars.length > 0);
  const rows = Math.ceil(drawn.length / columns);
  const panelHeight = titleHeight + Math.max(0, ...drawn.map(({ bars }) => bars.length)) * rowHeight;
  const width = 2 * margin + columns * panelWidth + (columns - 1) * gap;
  const height = headHeight + rows * (panelHeight + gap) + footHeight;
  const repetitions = Math.max(0, ...records.map(({ rep }) => rep));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Benchmark of job queues">`,
    `<style>${style}\n</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    text(margin, 34, "Jobs per second, all systems on one machine", { kind: "head" }),
    ...drawn.map((panel, index) =>
      drawPanel(
        panel,
        margin + (index % columns) * (panelWidth + gap),
        headHeight + Math.floor(index / columns) * (panelHeight + gap),
      ),
    ),
    ...notes(repetitions).map((note, line) =>
      text(margin, height - footHeight + 16 + line * 18, note, { kind: "quiet" }),
    ),
    "</svg>\n",
  ].join("\n");
};
