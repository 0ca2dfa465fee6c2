import { mostAttempts } from "../store/contract/history.ts";
import type { StateAttempt } from "../store/contract/history.ts";
import type { JobRecord } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";

/** What is kept of a job beside its row. It never changes, like the row. */
export interface JobHistory {
  /** The latest first. */
  readonly attempts: readonly StateAttempt[];
  /** That of the error which made it fail, while it is failed. */
  readonly fingerprint: string | null;
}

const nothing: JobHistory = { attempts: [], fingerprint: null };

/** Adds an attempt; one that made the job fail gives it its fingerprint. */
export const recordAttempt = (store: JobStore, record: JobRecord, attempt: StateAttempt): void => {
  const { attempts } = record.history ?? nothing;
  store.setHistory(record, {
    attempts: [attempt, ...attempts.slice(0, mostAttempts - 1)],
    fingerprint: record.row.status === "failed" ? attempt.fingerprint : null,
  });
};

export const forgetFingerprint = (store: JobStore, record: JobRecord): void => {
  const { history } = record;
  if (history !== null && history.fingerprint !== null)
    store.setHistory(record, { ...history, fingerprint: null });
};
