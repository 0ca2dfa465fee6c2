import {
  type AnyJob,
  type AnyJobSequence,
  type JobAttempt,
  type JobAttemptOutcome,
  type JobStatus,
  shortId,
} from "leasehold";
import { formatDuration } from "leasehold/adapter";
import type { Colours } from "./output.ts";
import { type Column, renderTable, type Screen } from "./table.ts";
import { formatMoment, oneLine, shorten } from "./text.ts";

const colourOutcome = (colours: Colours, outcome: JobAttemptOutcome, text: string): string => {
  switch (outcome) {
    case "completed":
      return colours.green(text);
    case "failed":
    case "expired":
      return colours.red(text);
    case "retried":
    case "released":
    case "cancelled":
    case "already_completed":
      return colours.yellow(text);
  }
};

/** A clock may have been turned back in between. */
const lengthOf = (from: Date, to: Date): string => formatDuration(Math.max(0, to.getTime() - from.getTime()));

const deploymentTitle = "DEPLOYMENT";

const columnsFor = (attempts: readonly JobAttempt[]): readonly Column[] => [
  { title: "TRY", align: "right" },
  { title: "BEGAN" },
  { title: "IN QUEUE", align: "right", dispensable: 1 },
  { title: "RAN", align: "right" },
  { title: "END" },
  { title: "WORKER", least: 8, dispensable: 2 },
  ...(attempts.some(({ deployment }) => deployment !== null)
    ? [{ title: deploymentTitle, least: deploymentTitle.length, dispensable: 3 }]
    : []),
];

// Below the second column.
const errorIndent = " ".repeat(5);

/** Attempts one a line, each with its error on a line below. */
export const renderAttempts = (screen: Screen, attempts: readonly JobAttempt[], now: number): string => {
  const { colours, columns: room } = screen;
  const rows = attempts.map((attempt) => [
    String(attempt.attempt),
    formatMoment(attempt.startedAt, now),
    lengthOf(attempt.dueAt, attempt.startedAt),
    lengthOf(attempt.startedAt, attempt.endedAt),
    {
      text: attempt.outcome.replace("_", " "),
      paint: (text: string) => colourOutcome(colours, attempt.outcome, text),
    },
    oneLine(attempt.workerId),
    oneLine(attempt.deployment ?? ""),
  ]);
  const [header, ...lines] = renderTable(screen, columnsFor(attempts), rows).split("\n");
  const withErrors = attempts.flatMap(({ error }, index) => {
    const line = lines[index]!;
    if (error === null) return [line];
    const text = oneLine(`${error.name}: ${error.message}`);
    return [line, errorIndent + colours.dim(shorten(text, room - errorIndent.length))];
  });
  return [header, ...withErrors].join("\n");
};

export const colourStatus = (colours: Colours, status: JobStatus, text: string = status): string => {
  switch (status) {
    case "completed":
      return colours.green(text);
    case "failed":
      return colours.red(text);
    case "running":
      return colours.cyan(text);
    case "blocked":
      return colours.magenta(text);
    case "pending":
      return colours.yellow(text);
  }
};

/** The one thing about a job that is worth a glance, by status. */
export const jobDetail = (job: AnyJob, now: number): string => {
  switch (job.status) {
    case "failed":
      return job.failure.error === null
        ? job.failure.reason
        : `${job.failure.error.message} (${job.failure.reason})`;
    case "running":
      return job.leasedUntil.getTime() > now
        ? `on ${job.leasedBy}`
        : `lease of ${job.leasedBy} ran out ${formatMoment(job.leasedUntil, now)}`;
    case "blocked":
      return `waits for ${job.blockers.filter(({ status }) => status !== "completed").length} of ${job.blockers.length}`;
    case "completed":
      return job.completedBy === null ? "completed without a worker" : "";
    case "pending": {
      const due = job.scheduledAt.getTime() > now ? `runs ${formatMoment(job.scheduledAt, now)}` : "";
      if (job.attempt === 0 || job.lastError === null) return due;
      return `${due === "" ? "" : `${due}; `}last error: ${job.lastError.message}`;
    }
  }
};

const longestName = 28;

const columnsForJobTable = (jobs: readonly AnyJob[]): readonly Column[] => {
  const isMixed = jobs.some(({ status }) => status !== jobs[0]?.status);
  return [
    { title: "ID", short: shortId },
    { title: "TYPE", least: 16 },
    { title: "QUEUE", least: 8, dispensable: 3 },
    // In a list by status, the column would repeat the filter.
    { title: "STATUS", ...(isMixed ? {} : { dispensable: 5 }) },
    { title: "TRY", align: "right", dispensable: 4 },
    { title: "CREATED", dispensable: 2 },
    { title: "", least: 20, dispensable: 1 },
  ];
};

/** Jobs one a line. */
export const renderJobs = (screen: Screen, jobs: readonly AnyJob[], now: number = Date.now()): string => {
  const { colours } = screen;
  return renderTable(
    screen,
    columnsForJobTable(jobs),
    jobs.map((job) => [
      oneLine(job.id),
      shorten(oneLine(job.typeName), longestName),
      shorten(oneLine(job.queue), longestName),
      { text: job.status, paint: (text) => colourStatus(colours, job.status, text) },
      `${job.attempt}/${job.maxAttempts}`,
      formatMoment(job.createdAt, now),
      { text: oneLine(jobDetail(job, now)), paint: colours.dim },
    ]),
  );
};

const longestNameSequenceTable = 28;

const columns: readonly Column[] = [
  { title: "ID", short: shortId },
  { title: "TYPE", least: 16 },
  { title: "STATUS" },
  { title: "NOW AT", least: 8, dispensable: 2 },
  { title: "CREATED", dispensable: 3 },
  { title: "", least: 20, dispensable: 1 },
];

const failureText = (sequence: AnyJobSequence): string => {
  if (sequence.status !== "failed") return "";
  const { error, reason } = sequence.failure;
  return error === null ? reason : `${error.message} (${reason})`;
};

/** Sequences one a line, each with the type of the job it has come to. */
export const renderSequences = (
  screen: Screen,
  sequences: readonly AnyJobSequence[],
  now: number = Date.now(),
): string =>
  renderTable(
    screen,
    columns,
    sequences.map((sequence) => [
      oneLine(sequence.id),
      shorten(oneLine(sequence.typeName), longestNameSequenceTable),
      { text: sequence.status, paint: (text) => colourStatus(screen.colours, sequence.status, text) },
      sequence.currentJobId === sequence.id
        ? ""
        : shorten(oneLine(sequence.currentTypeName), longestNameSequenceTable),
      formatMoment(sequence.createdAt, now),
      { text: oneLine(failureText(sequence)), paint: screen.colours.dim },
    ]),
  );
