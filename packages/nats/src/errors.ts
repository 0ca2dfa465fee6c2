import { LeaseholdError } from "leasehold/adapter";

/** There is no connection to NATS. The notification is lost; polling finds the job. */
export class NatsUnavailableError extends LeaseholdError {
  constructor(message = "There is no connection to NATS at the moment.", options?: ErrorOptions) {
    super("NatsUnavailable", message, options);
  }
}
