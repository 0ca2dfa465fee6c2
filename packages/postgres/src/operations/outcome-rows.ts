import type { AttemptNote, JobOutcome } from "leasehold/adapter";
import { defineRows, type RowsColumn, type RowsParameter } from "../sql/rows-parameter.ts";

const scheduleOf = (outcome: JobOutcome): { readonly at?: number; readonly afterMs?: number } =>
  (outcome.kind === "retry" || outcome.kind === "giveBack" ? outcome.schedule : null) ?? {};

const outcomeColumns = (idType: string): RowsColumn<JobOutcome>[] => [
  { name: "id", type: idType, read: ({ jobId }) => jobId },
  // An outcome without a token is alone in its call, so null is never one value among others.
  { name: "token", type: "text", required: true, read: ({ leaseToken }) => leaseToken },
  { name: "kind", type: "text", required: true, read: ({ kind }) => kind },
  { name: "locked", type: "boolean", read: ({ locked }) => locked || null },
  {
    name: "output",
    type: "text",
    read: (outcome) => (outcome.kind === "complete" ? outcome.output : null),
  },
  {
    name: "continued_to_id",
    type: idType,
    read: (outcome) => (outcome.kind === "complete" ? outcome.continuedToId : null),
  },
  {
    name: "completed_by",
    type: "text",
    read: (outcome) => (outcome.kind === "complete" ? outcome.completedBy : null),
  },
  { name: "error", type: "text", read: (outcome) => (outcome.kind === "complete" ? null : outcome.error) },
  { name: "reason", type: "text", read: (outcome) => (outcome.kind === "fail" ? outcome.reason : null) },
  { name: "run_at", type: "bigint", read: (outcome) => scheduleOf(outcome).at ?? null },
  { name: "run_after", type: "bigint", read: (outcome) => scheduleOf(outcome).afterMs ?? null },
];

/** What an outcome says about its attempt. There is nothing to say about one that completes its job. */
export const attemptNoteOf = ({ kind, note }: JobOutcome): AttemptNote | undefined =>
  kind === "complete" ? undefined : note;

const ofAttempt =
  <TName extends keyof AttemptNote>(name: TName) =>
  (outcome: JobOutcome): AttemptNote[TName] | null =>
    attemptNoteOf(outcome)?.[name] ?? null;

// A row without `lease_version` is an outcome that says nothing about its attempt.
const attemptColumns: RowsColumn<JobOutcome>[] = [
  { name: "lease_version", type: "int", read: ofAttempt("leaseVersion") },
  { name: "attempt", type: "int", required: true, read: (outcome) => attemptNoteOf(outcome)?.attempt ?? 0 },
  {
    name: "worker_id",
    type: "text",
    required: true,
    read: (outcome) => attemptNoteOf(outcome)?.workerId ?? "",
  },
  { name: "deployment", type: "text", read: ofAttempt("deployment") },
  { name: "attempt_due_at", type: "bigint", read: ofAttempt("dueAt") },
  { name: "started_at", type: "bigint", read: ofAttempt("startedAt") },
  { name: "fingerprint", type: "text", read: ofAttempt("fingerprint") },
  { name: "attempt_error", type: "text", read: ofAttempt("error") },
  { name: "log", type: "text", read: ofAttempt("log") },
];

const plainRows = defineRows<JobOutcome>(outcomeColumns);
const rowsWithAttempts = defineRows<JobOutcome>((idType) => [...outcomeColumns(idType), ...attemptColumns]);

/** The rows of a batch; `attempts`: with what outcomes say about their attempts, which most batches do not have. */
export const outcomeRows = (idType: string, attempts: boolean): RowsParameter<JobOutcome> =>
  attempts ? rowsWithAttempts(idType) : plainRows(idType);

/** The names of the columns about attempts. */
export const attemptColumnNames: readonly string[] = attemptColumns.map(({ name }) => name);
