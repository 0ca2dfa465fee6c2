import type { RecurringJob } from "leasehold";
import { formatDuration } from "leasehold/adapter";
import { type Column, renderTable, type Screen } from "./table.ts";
import { formatMoment, oneLine, printable, shorten } from "./text.ts";

const longestName = 40;

const columns: readonly Column[] = [
  { title: "ID", least: 12 },
  { title: "TIMES", least: 12 },
  { title: "TYPE", least: 12, dispensable: 3 },
  { title: "NEXT" },
  { title: "LAST", dispensable: 1 },
  { title: "STARTED", align: "right", dispensable: 4 },
  { title: "SKIPPED", align: "right", dispensable: 5 },
  { title: "DROPPED", align: "right", dispensable: 6 },
  { title: "OWNER", least: 6, dispensable: 7 },
];

const timesOf = ({ cron, timeZone, everyMs }: RecurringJob<string>): string =>
  everyMs === null ? `${cron} ${timeZone}` : `every ${formatDuration(everyMs)}`;

const nextOf = ({ paused, nextAt, waitingFor, failure }: RecurringJob<string>, now: number): string => {
  if (paused) return "paused";
  if (failure !== null) return "cannot start";
  if (waitingFor !== null) return "waits for the last run";
  return nextAt === null ? "ended" : formatMoment(nextAt, now);
};

const paintOf = (
  { colours }: Screen,
  { paused, failure }: RecurringJob<string>,
): { paint?: (text: string) => string } => {
  if (paused) return { paint: colours.yellow };
  return failure === null ? {} : { paint: colours.red };
};

const failureOf = ({ failure }: RecurringJob<string>): string =>
  failure === null
    ? ""
    : `${failure.error.name}: ${failure.error.message} (tried ${failure.tries} times since ${failure.since.toISOString()})`;

export const renderRecurringJobs = (
  screen: Screen,
  jobs: readonly RecurringJob<string>[],
  now: number = Date.now(),
): string =>
  renderTable(
    screen,
    columns,
    jobs.map((job) => [
      shorten(oneLine(job.id), longestName),
      oneLine(timesOf(job)),
      shorten(oneLine(job.job.typeName), longestName),
      { text: nextOf(job, now), ...paintOf(screen, job) },
      job.recent[0] === undefined ? "" : `${job.recent[0].result} ${formatMoment(job.recent[0].at, now)}`,
      String(job.counts.started + job.counts.caught_up),
      String(job.counts.skipped),
      String(job.counts.dropped),
      oneLine(job.owner ?? ""),
    ]),
  );

const tickColumns: readonly Column[] = [
  { title: "TIME" },
  { title: "RESULT" },
  { title: "", least: 10 },
  { title: "SEQUENCE", dispensable: 1 },
];

export const renderRecurringJob = (
  screen: Screen,
  job: RecurringJob<string>,
  now: number = Date.now(),
): string => {
  const { colours } = screen;
  const fields: readonly (readonly [string, string])[] = [
    ["times", timesOf(job)],
    ["next", nextOf(job, now) + (job.nextAt === null ? "" : `, ${job.nextAt.toISOString()}`)],
    ["failure", failureOf(job)],
    ["job", `${job.job.typeName} in queue ${job.job.queue}, input ${JSON.stringify(job.job.input)}`],
    [
      "policies",
      `overlap ${job.overlap}, catch up ${job.catchUp} within ${formatDuration(job.catchUpWindowMs)}`,
    ],
    ["jitter", job.jitterMs === 0 ? "" : `up to ${formatDuration(job.jitterMs)}`],
    ["from", job.startAt?.toISOString() ?? ""],
    ["until", job.endAt?.toISOString() ?? ""],
    ["owner", job.owner ?? ""],
    ["version", String(job.version)],
    [
      "so far",
      `${job.counts.started} started, ${job.counts.caught_up} caught up, ${job.counts.skipped} skipped, ${job.counts.dropped} dropped`,
    ],
  ];
  const lines = fields
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `  ${colours.dim(name.padEnd(9))} ${printable(value)}`);
  const recent =
    job.recent.length === 0
      ? []
      : [
          "",
          renderTable(
            screen,
            tickColumns,
            job.recent.map(({ nominalAt, result, count, triggered, at, sequenceId }) => [
              nominalAt.toISOString(),
              count === 1 ? result : `${result} (${count})`,
              triggered ? "triggered" : `decided ${formatDuration(at.getTime() - nominalAt.getTime())} later`,
              oneLine(sequenceId ?? ""),
            ]),
          ),
        ];
  return [colours.bold(oneLine(job.id)), ...lines, ...recent].join("\n");
};
