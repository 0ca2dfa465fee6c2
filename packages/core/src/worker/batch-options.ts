import type { JobView } from "../engine/view.ts";
import { InvalidOptionError } from "../errors.ts";
import { readProperty } from "../model/option-checks.ts";
import type { AttemptLog, WriteLog } from "./attempt-log.ts";
import type { BatchMember } from "./batch-member.ts";
import type { BatchSession } from "./batch-session.ts";
import type { WorkerContext } from "./worker-context.ts";

/** What the options of a batch handler are made from. */
export interface CalledBatch {
  readonly worker: WorkerContext;
  readonly called: readonly BatchMember[];
  getSignal(): AbortSignal;
  getSession(): BatchSession;
  getLog(): AttemptLog;
}

/** What a batch handler and its middleware are given, most of it made on demand. */
export class BatchOptions {
  readonly jobs: readonly JobView[];
  readonly workerId: string;
  readonly #batch: CalledBatch;

  constructor(batch: CalledBatch) {
    this.jobs = batch.called.map(({ view }) => view!);
    this.workerId = batch.worker.settings.workerId;
    this.#batch = batch;
  }

  get signal(): AbortSignal {
    return this.#batch.getSignal();
  }

  readonly signalOf = (job: unknown): AbortSignal => {
    const id = readProperty(job, "id");
    const member = this.#batch.called.find(({ held }) => held.job.id === id);
    if (!member) throw new InvalidOptionError("job", "must be one of the jobs of this batch", job);
    return member.getSignal();
  };

  get log(): WriteLog {
    return this.#batch.getLog().write;
  }

  get complete(): unknown {
    return this.#batch.getSession().complete;
  }
}
