import type { AnyJobSequence } from "leasehold";
import { formatMoment } from "./amounts.ts";
import { colourStatus } from "./job-table.ts";
import { oneLine, shortId, shorten } from "./printable.ts";
import { type Column, renderTable, type Screen } from "./table.ts";

const longestName = 28;

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
      shorten(oneLine(sequence.typeName), longestName),
      { text: sequence.status, paint: (text) => colourStatus(screen.colours, sequence.status, text) },
      sequence.currentJobId === sequence.id ? "" : shorten(oneLine(sequence.currentTypeName), longestName),
      formatMoment(sequence.createdAt, now),
      { text: oneLine(failureText(sequence)), paint: screen.colours.dim },
    ]),
  );
