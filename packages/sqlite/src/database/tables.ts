import { InvalidOptionError } from "leasehold/adapter";

/** Names for use in SQL, quoted. Only the prefix comes from outside, and it is checked here. */
export interface Tables {
  readonly job: string;
  readonly blocker: string;
  readonly migration: string;
  readonly recurring: string;
  readonly pendingIndex: string;
  readonly runningIndex: string;
  readonly failedIndex: string;
  readonly blockedIndex: string;
  readonly createdIndex: string;
  readonly sequenceIndex: string;
  readonly treeIndex: string;
  readonly keyIndex: string;
  readonly liveKeyIndex: string;
  readonly blockerSequenceIndex: string;
  readonly recurringDueIndex: string;
  readonly expiringIndex: string;
  readonly replacedIndex: string;
  readonly flow: string;
  readonly lane: string;
  readonly line: string;
  readonly lineIndex: string;
  readonly openLineIndex: string;
  readonly timedLineIndex: string;
  readonly attempt: string;
  readonly attemptTrigger: string;
  readonly reporter: string;
  readonly rollup: string;
  readonly cause: string;
  readonly action: string;
  readonly actionIndex: string;
  readonly fingerprintIndex: string;
  readonly causeIndex: string;
  readonly causeLastSeenIndex: string;
}

const validPrefix = /^(?:[a-z_][a-z0-9_]{0,30})?$/;

export const nameTables = (prefix: string): Tables => {
  // In JavaScript, `$` does not match before a final newline, as it does in some other languages.
  if (typeof prefix !== "string" || !validPrefix.test(prefix)) {
    throw new InvalidOptionError(
      "tablePrefix",
      "must be empty, or begin with a lower-case letter or underscore and go on with up to 30 of these and digits",
      prefix,
    );
  }
  // SQLite reserves names that begin like this.
  if (prefix.startsWith("sqlite_")) {
    throw new InvalidOptionError("tablePrefix", "must not begin with sqlite_", prefix);
  }
  const name = (suffix: string): string => `"${prefix}${suffix}"`;
  return {
    job: name("job"),
    blocker: name("job_blocker"),
    migration: name("migration"),
    recurring: name("recurring_job"),
    pendingIndex: name("job_pending"),
    runningIndex: name("job_running"),
    failedIndex: name("job_failed"),
    blockedIndex: name("job_blocked"),
    createdIndex: name("job_created"),
    sequenceIndex: name("job_sequence"),
    treeIndex: name("job_tree"),
    keyIndex: name("job_key"),
    liveKeyIndex: name("job_live_key"),
    blockerSequenceIndex: name("job_blocker_sequence"),
    recurringDueIndex: name("recurring_job_due"),
    expiringIndex: name("job_expiring"),
    replacedIndex: name("job_replaced"),
    flow: name("flow"),
    lane: name("lane"),
    line: name("line"),
    lineIndex: name("job_line"),
    openLineIndex: name("line_open"),
    timedLineIndex: name("line_timed"),
    attempt: name("job_attempt"),
    attemptTrigger: name("job_attempts_go"),
    reporter: name("reporter"),
    rollup: name("rollup"),
    cause: name("cause"),
    action: name("action"),
    actionIndex: name("action_started"),
    fingerprintIndex: name("job_fingerprint"),
    causeIndex: name("job_cause"),
    causeLastSeenIndex: name("cause_last_seen"),
  };
};
