import type { Log, NotifyAdapter, WorkerBuilder } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";

/** What `leasehold worker run` hands to a worker module: the store it was started with. */
export interface WorkerContext {
  // oxlint-disable-next-line typescript/no-redundant-type-constituents -- of whatever context type
  readonly stateAdapter: AnyStateAdapter;
  readonly notifyAdapter: NotifyAdapter | undefined;
  /** Prints in the manner of the command. */
  readonly log: Log;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the worker of whatever application
type AnyWorkerBuilder = Pick<WorkerBuilder<any, any, any>, "start">;

/**
 * Gives a worker module its type:
 *
 *     export default defineWorker(async (context) => {
 *       const leasehold = await createLeasehold({ ...context, jobTypes });
 *       return leasehold.createWorker().implementJobType({ … });
 *     });
 */
export const defineWorker = (
  build: (context: WorkerContext) => AnyWorkerBuilder | Promise<AnyWorkerBuilder>,
): typeof build => build;
