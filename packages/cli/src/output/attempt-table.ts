import type { JobAttempt, JobAttemptOutcome } from "leasehold";
import { formatDuration } from "leasehold/adapter";
import { formatMoment } from "./amounts.ts";
import type { Colours } from "./output.ts";
import { oneLine, shorten } from "./printable.ts";
import { type Column, renderTable, type Screen } from "./table.ts";

const colourOutcome = (colours: Colours, outcome: JobAttemptOutcome, text: string): string => {
  switch (outcome) {
    case "completed":
      return colours.green(text);
    case "failed":
    case "expired":
      return colours.red(text);
    case "retried":
    case "given_back":
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
