import {
  type AnyJob,
  type AnyJobSequence,
  type JobAttempt,
  type JobExplanation,
  shortId,
  type StoredError,
} from "leasehold";
import { formatDuration } from "leasehold/adapter";
import { colourStatus, jobDetail, renderAttempts } from "./job-tables.ts";
import type { Colours, Output } from "./output.ts";
import { formatMoment, hangingIndent, oneLine, printable, shorten, textWidth, wrap } from "./text.ts";

export interface Inspection {
  readonly job: AnyJob;
  readonly explanation: JobExplanation;
  readonly attempts: readonly JobAttempt[] | null;
  readonly blockers: readonly AnyJobSequence[];
  readonly sequence: readonly AnyJob[];
  readonly dependants: readonly AnyJob[];
  readonly hasMore: { readonly sequence: boolean; readonly dependants: boolean };
}

export interface InspectionOptions {
  readonly now: number;
  readonly stack: boolean;
}

const margin = 2;

const nameWidth = 10;

const longestName = 28;
// An ISO date and the gaps on both sides of the text after it.
const momentWidth = 28;
// Below this there is no room beside whole ids.
const roomForIds = 100;

const indent = (text: string, by = " ".repeat(margin)): string =>
  text
    .split("\n")
    .map((line) => by + line)
    .join("\n");

const renderJson = (value: unknown): string => printable(JSON.stringify(value, null, 2) ?? "undefined");

const renderError = (colours: Colours, error: StoredError, stack: boolean): string => {
  const lines = [`${colours.red(oneLine(error.name))}: ${printable(error.message)}`];
  if (error.code !== undefined) lines.push(colours.dim(`code ${oneLine(error.code)}`));
  if (stack && error.stack !== undefined) lines.push(colours.dim(printable(error.stack)));
  if (error.cause !== undefined) lines.push(`caused by ${renderError(colours, error.cause, stack)}`);
  return lines.join("\n");
};

/** What is known of when things happened, in that order. */
const timelineOf = (job: AnyJob): readonly (readonly [Date, string])[] => {
  const events: (readonly [Date, string])[] = [[job.createdAt, "created"]];
  if (job.scheduledAt.getTime() !== job.createdAt.getTime()) events.push([job.scheduledAt, "scheduled for"]);
  if (job.lastAttemptAt !== null) {
    events.push([job.lastAttemptAt, `attempt ${job.attempt} of ${job.maxAttempts} began`]);
  }
  if (job.lastFailedAt !== null && job.status !== "failed") {
    events.push([job.lastFailedAt, "last attempt failed"]);
  }
  if (job.status === "running") events.push([job.leasedUntil, `lease of ${oneLine(job.leasedBy)} ends`]);
  if (job.status === "completed") {
    events.push([job.completedAt, `completed by ${oneLine(job.completedBy ?? "a call outside any worker")}`]);
  }
  if (job.status === "failed") events.push([job.failure.at, `failed: ${job.failure.reason}`]);
  return events.toSorted(([a], [b]) => a.getTime() - b.getTime());
};

const fieldsOf = (job: AnyJob): readonly (readonly [string, string])[] => [
  ["type", job.typeName],
  ["queue", `${job.queue}, priority ${job.priority}`],
  ...(job.group === null ? [] : [["group", job.group] as const]),
  ["attempts", `${job.attempt} of ${job.maxAttempts}`],
  ...(job.timeoutMs === null ? [] : [["timeout", formatDuration(job.timeoutMs)] as const]),
  ...(job.expireAfterMs === null ? [] : [["may wait", formatDuration(job.expireAfterMs)] as const]),
  ...(job.status === "running"
    ? [["lease", `${job.leasedBy}, until ${job.leasedUntil.toISOString()}`] as const]
    : []),
  ["sequence", `${job.sequenceId} (${job.sequenceTypeName})`],
  ...(job.deduplicationKey === null ? [] : [["key", job.deduplicationKey] as const]),
  ...(job.rootSequenceId === job.sequenceId ? [] : [["root", job.rootSequenceId] as const]),
  ...(job.originId === null ? [] : [["started by", job.originId] as const]),
];

const errorOf = (job: AnyJob): StoredError | null =>
  job.status === "failed" ? job.failure.error : job.lastError;

export const renderInspection = (
  output: Output,
  { job, explanation, attempts, blockers, sequence, dependants, hasMore }: Inspection,
  { now, stack }: InspectionOptions,
): string => {
  const { colours } = output;
  const sections: string[] = [`${colours.bold(job.id)}  ${colourStatus(colours, job.status)}`];
  const section = (title: string, body: string): void => {
    sections.push(`${colours.bold(title)}\n${indent(body)}`);
  };
  const room = output.columns - margin;
  const lines = (text: string, hanging = 0): string => hangingIndent(wrap(text, room - hanging), hanging);
  const idFor = (id: string): string => (output.columns < roomForIds ? shortId(oneLine(id)) : oneLine(id));
  const jobLine = (related: AnyJob): string => {
    const id = idFor(related.id);
    const typeName = shorten(
      oneLine(related.typeName),
      Math.min(longestName, Math.max(8, room - textWidth(id) - related.status.length - 6)),
    );
    const used = [id, related.status, typeName].reduce((sum, text) => sum + textWidth(text) + 2, 2);
    const detail = shorten(oneLine(jobDetail(related, now)), Math.max(0, room - used));
    return `${related.id === job.id ? "→" : " "} ${id}  ${colourStatus(colours, related.status)}  ${typeName}  ${colours.dim(detail)}`.trimEnd();
  };

  section(
    // The id of a sequence means the sequence, which may have gone on from its first job.
    explanation.state === "failed" || explanation.state === "completed"
      ? "What became of it"
      : "Why it is where it is",
    lines(printable(explanation.summary)),
  );
  const links = "chain" in explanation ? explanation.chain : [];
  const holders = explanation.state === "throttled" ? explanation.holders : [];
  const nameOf = (typeName: string): string => shorten(oneLine(typeName), longestName);
  if (links.length + holders.length > 0)
    section(
      "Held up by",
      [
        ...links.map(
          ({ jobId, typeName, reason }) => `${idFor(jobId)} ${nameOf(typeName)} ${printable(reason)}`,
        ),
        // A job that comes first in its group and runs is the first link.
        ...holders
          .filter(({ jobId }) => links[0]?.jobId !== jobId)
          .map(({ jobId, typeName, leasedBy, since }) => {
            const length = formatDuration(now - since.getTime());
            return `${idFor(jobId)} ${nameOf(typeName)} runs on worker ${printable(leasedBy)} for ${length}`;
          }),
      ]
        .map((line) => lines(line, margin))
        .join("\n"),
    );
  section(
    "Job",
    fieldsOf(job)
      .map(
        ([name, value]) => `${colours.dim(name.padEnd(nameWidth))} ${lines(oneLine(value), nameWidth + 1)}`,
      )
      .join("\n"),
  );
  section(
    "Timeline",
    timelineOf(job)
      .map(([at, what]) => {
        const moment = formatMoment(at, now);
        return `${at.toISOString()}  ${shorten(what, room - momentWidth - moment.length)}  ${colours.dim(moment)}`;
      })
      .join("\n"),
  );
  if (attempts !== null && attempts.length > 0)
    section("Attempts", renderAttempts({ colours, columns: room }, attempts, now));
  const error = errorOf(job);
  if (error !== null) {
    section(job.status === "failed" ? "Error" : "Last error", lines(renderError(colours, error, stack)));
    if (!stack && error.stack !== undefined)
      sections.push(colours.dim("  --stack shows where it was thrown"));
  }
  section("Input", renderJson(job.input));
  if (job.progress !== null) section("Progress", renderJson(job.progress));
  if (job.status === "completed" && job.continuedToId === null) section("Output", renderJson(job.output));
  if (blockers.length > 0) {
    const waited = blockers.map(
      ({ id, status, typeName }) =>
        `${idFor(id)}  ${colourStatus(colours, status)}  ${shorten(oneLine(typeName), longestName)}`,
    );
    section(job.status === "blocked" ? "Waits for" : "Waited for", waited.join("\n"));
  }
  const jobLines = (jobs: readonly AnyJob[], more: boolean): string =>
    [...jobs.map(jobLine), ...(more ? [colours.dim("  … and more")] : [])].join("\n");
  if (sequence.length > 1) section("Sequence", jobLines(sequence, hasMore.sequence));
  if (dependants.length > 0) section("Waited for by", jobLines(dependants, hasMore.dependants));
  return sections.join("\n\n");
};
