import type { AnyJob, JobStatus } from "leasehold";
import { formatMoment } from "./amounts.ts";
import type { Colours } from "./output.ts";
import { oneLine, shortId, shorten } from "./printable.ts";
import { type Column, renderTable, type Screen } from "./table.ts";

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

const columnsFor = (jobs: readonly AnyJob[]): readonly Column[] => {
  const isMixed = jobs.some(({ status }) => status !== jobs[0]?.status);
  return [
    { title: "ID", short: shortId },
    { title: "TYPE", least: 16 },
    { title: "QUEUE", least: 8, dispensable: 3 },
    // Of a list by status, this says nothing new.
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
    columnsFor(jobs),
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
