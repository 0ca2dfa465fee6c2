import { LeaseholdError } from "leasehold/adapter";

/**
 * A transaction at REPEATABLE READ or SERIALIZABLE does not see rows that this call depends on. Roll it back and run it
 * again, as after a serialisation failure.
 */
export class StaleSnapshotError extends LeaseholdError {
  constructor(reason: string) {
    super("StaleSnapshot", `The transaction's snapshot is too old for this call: ${reason}. Run it again.`);
  }
}

/** Nothing was committed: a statement of the transaction had failed, and its error was caught without a savepoint. */
export class TransactionRolledBackError extends LeaseholdError {
  constructor() {
    super(
      "TransactionRolledBack",
      "The transaction was rolled back, because a statement in it had failed. Let the error through, or run what may fail in a nested transaction.",
    );
  }
}
