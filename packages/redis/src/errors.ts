import { LeaseholdError } from "leasehold/adapter";

/** There is no connection to Redis at the moment. The notification is lost; polling finds the job. */
export class RedisUnavailableError extends LeaseholdError {
  constructor() {
    super("RedisUnavailable", "There is no connection to Redis at the moment.");
  }
}
