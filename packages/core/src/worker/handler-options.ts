import type { JobView } from "../engine/view.ts";
import type { Attempt } from "./attempt.ts";
import type { WriteLog } from "./attempt-log.ts";

/**
 * What a handler and its middleware are given, most of it made on demand: those of short jobs look at nothing but the
 * job. A class, because accessors in an object literal cost every job its own hidden class; these are shared.
 */
export class HandlerOptions {
  readonly job: JobView;
  readonly workerId: string;
  readonly #attempt: Attempt;

  constructor(job: JobView, attempt: Attempt) {
    this.job = job;
    this.workerId = attempt.worker.settings.workerId;
    this.#attempt = attempt;
  }

  get signal(): AbortSignal {
    return this.#attempt.getSignal();
  }

  get prepare(): unknown {
    return this.#attempt.getSession().prepare();
  }

  get complete(): unknown {
    return this.#attempt.getSession().complete;
  }

  get reportProgress(): unknown {
    return this.#attempt.getSession().reportProgress;
  }

  get log(): WriteLog {
    return this.#attempt.getLog().write;
  }
}
