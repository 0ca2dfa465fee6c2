import { InvalidOptionError } from "leasehold/adapter";

/** Names for use in SQL, quoted. `nameTables` checks the prefix, the only part that users choose. */
export interface Tables {
  readonly job: string;
  readonly input: string;
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
  readonly openKeyIndex: string;
  readonly blockerSequenceIndex: string;
  readonly recurringDueIndex: string;
  readonly expiringIndex: string;
  readonly replacedIndex: string;
  /** Jobs by group, and by the recurring job that started them. */
  readonly ownGroupIndex: string;
  readonly startedByIndex: string;
  readonly limitEpoch: string;
  readonly limitRule: string;
  readonly groupState: string;
  readonly groupIndex: string;
  readonly claimableGroupIndex: string;
  readonly timedGroupIndex: string;
  readonly attempt: string;
  readonly attemptTrigger: string;
  readonly inputTrigger: string;
  readonly process: string;
  readonly statisticsBucket: string;
  readonly failureCause: string;
  readonly fingerprintIndex: string;
  readonly jobCauseIndex: string;
  readonly causeLastSeenIndex: string;
}

const validPrefix = /^(?:[a-z_][a-z0-9_]{0,30})?$/;

export const nameTables = (prefix: string): Tables => {
  // In JavaScript, `$` does not match before a final newline, as it does in some other languages.
  if (typeof prefix !== "string" || !validPrefix.test(prefix)) {
    throw new InvalidOptionError(
      "tablePrefix",
      "must be empty, or begin with a lower-case letter or underscore, followed by up to 30 of these and digits",
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
    input: name("job_input"),
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
    openKeyIndex: name("job_open_key"),
    blockerSequenceIndex: name("job_blocker_sequence"),
    recurringDueIndex: name("recurring_job_due"),
    expiringIndex: name("job_expiring"),
    replacedIndex: name("job_replaced"),
    ownGroupIndex: name("job_own_group"),
    startedByIndex: name("job_recurring"),
    limitEpoch: name("limit_epoch"),
    limitRule: name("limit_rule"),
    groupState: name("group_state"),
    groupIndex: name("job_group"),
    claimableGroupIndex: name("group_state_claimable"),
    timedGroupIndex: name("group_state_claimable_at"),
    attempt: name("job_attempt"),
    attemptTrigger: name("job_attempt_delete"),
    inputTrigger: name("job_input_delete"),
    process: name("process"),
    statisticsBucket: name("statistics_bucket"),
    failureCause: name("failure_cause"),
    fingerprintIndex: name("job_fingerprint"),
    jobCauseIndex: name("job_failure_cause"),
    causeLastSeenIndex: name("failure_cause_last_seen"),
  };
};
