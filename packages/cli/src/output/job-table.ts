import type { AnyJob, JobStatus } from "leasehold";
import { formatMoment } from "./amounts.ts";
import type { Colours, Output } from "./output.ts";
import { oneLine, shorten } from "./printable.ts";
import { renderTable } from "./table.ts";

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
      return `${job.failure.reason}${job.failure.error ? `: ${job.failure.error.message}` : ""}`;
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

const columns = [
  { title: "ID" },
  { title: "TYPE" },
  { title: "QUEUE" },
  { title: "STATUS" },
  { title: "TRY", align: "right" },
  { title: "CREATED" },
  { title: "" },
] as const;

const longestName = 28;

/** Jobs one a line, the detail cut to what is left of the terminal's width. */
export const renderJobs = (output: Output, jobs: readonly AnyJob[], now: number = Date.now()): string => {
  const { colours } = output;
  const rows = jobs.map((job) => [
    job.id,
    shorten(oneLine(job.typeName), longestName),
    shorten(oneLine(job.queue), longestName),
    job.status,
    `${job.attempt}/${job.maxAttempts}`,
    formatMoment(job.createdAt, now),
    oneLine(jobDetail(job, now)),
  ]);
  const widthOf = (index: number): number =>
    Math.max(columns[index]!.title.length, ...rows.map((row) => row[index]!.length));
  const used = [0, 1, 2, 3, 4, 5].reduce((sum, index) => sum + widthOf(index) + 2, 0);
  const room = Math.max(20, output.columns - used);
  return renderTable(
    output,
    columns,
    rows.map(([id, type, queue, status, attempt, created, detail], index) => [
      id!,
      type!,
      queue!,
      colourStatus(colours, jobs[index]!.status, status),
      attempt!,
      created!,
      colours.dim(shorten(detail!, room)),
    ]),
  );
};
