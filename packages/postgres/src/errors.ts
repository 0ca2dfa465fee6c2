import { LeaseholdError } from "leasehold/adapter";

/** Nothing was committed: a statement of the transaction had failed, and its error was caught without a savepoint. */
export class TransactionRolledBackError extends LeaseholdError {
  constructor() {
    super(
      "TransactionRolledBack",
      "The transaction was rolled back, because a statement in it had failed. Let the error through, or run what may fail in a nested transaction.",
    );
  }
}
