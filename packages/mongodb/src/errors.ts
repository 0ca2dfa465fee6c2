import { LeaseholdError } from "leasehold/adapter";

/** The server is no replica set, and so it has no transactions. */
export class StandaloneServerError extends LeaseholdError {
  constructor() {
    super(
      "StandaloneServer",
      "Leasehold needs a MongoDB replica set: a standalone server has no transactions.",
    );
  }
}
