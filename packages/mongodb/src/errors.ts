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

/** The document of a job would be larger than the server allows. Nothing was written. */
export class DocumentTooLargeError extends LeaseholdError {
  readonly jobId: string;
  readonly bytes: number;
  readonly maxBytes: number;

  constructor(jobId: string, bytes: number, maxBytes: number) {
    super(
      "DocumentTooLarge",
      `Job ${jobId} would take ${bytes} bytes in MongoDB, where a job may take ${maxBytes} with its input, output, progress, error and blockers. Store large data elsewhere and pass a reference.`,
    );
    this.jobId = jobId;
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}
