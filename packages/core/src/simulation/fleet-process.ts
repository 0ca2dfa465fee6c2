import type { Leasehold } from "../leasehold-api.ts";
import type { BatchMiddleware } from "../worker/handler-api.ts";
import type { Middleware } from "../worker/handler-api.ts";
import type { RunningWorker } from "../worker/api.ts";
import { type Runtime, sleep } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { createLeasehold } from "../leasehold.ts";
import { createUuidV7 } from "../base/runtime.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { createSeededRandom } from "../testing/seeded-random.ts";
import { acknowledgeStarts } from "./acknowledge-starts.ts";
import { createCallCounter } from "./call-counter.ts";
import type { FleetOptions } from "./fleet.ts";
import { createProcessNotify } from "./process-notify.ts";
import { createProcessStore } from "./process-store.ts";
import { createVirtualProcess, type VirtualProcess } from "./virtual-process.ts";
import type { SimulatedProcess } from "./workload.ts";

export interface FleetProcess<TDefs> {
  readonly process: VirtualProcess;
  readonly simulated: SimulatedProcess;
  readonly leasehold: Leasehold<TDefs, AnyStateAdapter>;
  kill(why: string): void;
  /** Stops one worker in good order and starts another in its place. */
  restartWorker(): Promise<void>;
  stop(): Promise<void>;
}

export interface FleetProcessOptions<TDefs> extends FleetOptions<TDefs> {
  readonly name: string;
  readonly onDeath: () => void;
}

/** Starts a process: Leasehold as an application would set it up, with the simulation underneath and all around. */
export const startProcess = async <TDefs>(
  options: FleetProcessOptions<TDefs>,
): Promise<FleetProcess<TDefs>> => {
  const { plan, clock, history, chaos, store, workload, name, onDeath } = options;
  const seed = `${plan.seed}/${name}`;
  const process = createVirtualProcess(name, clock);

  const kill = (why: string): void => {
    if (process.isDead) return;
    chaos.note(name, `killed ${why}`, Infinity);
    process.kill();
    onDeath();
  };

  const simulated: SimulatedProcess = {
    name,
    clock: process.clock,
    sleep: (ms, signal) => sleep(process.clock, ms, signal),
    block: (ms) => {
      chaos.note(name, `blocked for ${ms} ms`, ms);
      process.pause(ms);
    },
    crash: () => kill("by its own code"),
    get isCalm() {
      return chaos.isCalm;
    },
    strengthOf: chaos.strengthOf,
  };

  const calls = createCallCounter(history);

  const leasehold = await createLeasehold({
    statistics: false,
    jobTypes: workload.jobTypes,
    storeDeadlineMs: plan.storeDeadlineMs,
    stateAdapter: createProcessStore({
      adapter: store.connect(name),
      process,
      clock,
      random: createSeededRandom(`${seed}/store`),
      chaos,
      latencyMs: plan.latencyMs,
      kill,
    }),
    notifyAdapter: createProcessNotify({
      adapter: options.notifyAdapter,
      process,
      clock,
      random: createSeededRandom(`${seed}/notify`),
      chaos,
      leaseMs: plan.leaseMs,
      someJobIds: () => [...store.rows.keys()],
    }),
    observabilityAdapter: {
      jobAttemptStarted: (data) => {
        const call = calls.begin(data);
        history.add({
          kind: "slot_taken",
          at: clock.now(),
          workerId: data.workerId,
          queue: data.queue,
          call,
        });
      },
      jobAttemptDuration: (data) => {
        const call = calls.end(data);
        history.add({
          kind: "slot_freed",
          at: clock.now(),
          workerId: data.workerId,
          queue: data.queue,
          call,
        });
      },
    },
    runtime: createProcessRuntime(seed, process, options),
  });

  const recordExecutions: BatchMiddleware = async ({ jobs, signalOf, workerId }, next) => {
    const executions = jobs.map(({ id: jobId, attempt }) => {
      const execution = history.events.length;
      const start = { execution, process: name, workerId, jobId, attempt };
      history.add({ kind: "execution_started", at: clock.now(), ...start });
      return execution;
    });
    const signals = jobs.map((job) => signalOf(job));
    let ending: "returned" | "threw" = "threw";
    try {
      // A start in a handler's transaction is acknowledged only when the transaction commits.
      const result = await options.acknowledging.run([], next);
      ending = "returned";
      return result;
    } finally {
      for (const [index, execution] of executions.entries()) {
        const { aborted, reason } = signals[index]!;
        const abortReason = aborted ? String(reason) : undefined;
        history.add({ kind: "execution_ended", at: clock.now(), execution, ending, abortReason });
      }
    }
  };
  const recordExecution: Middleware = ({ job, signal, workerId, log }, next) =>
    recordExecutions({ jobs: [job], signal, signalOf: () => signal, workerId, log }, next);

  const facade = acknowledgeStarts(leasehold, options.acknowledging, (kind, jobIds) =>
    history.add({ kind, at: clock.now(), process: name, jobIds }),
  );
  const recorded: typeof facade = {
    ...facade,
    createWorker: (definition) => {
      const worker = leasehold.createWorker(definition).use(recordExecution).useForBatches(recordExecutions);
      return calls.learnBatchTypes(worker);
    },
  };

  const queueNames = new Set(["default"]);
  for (const { queue } of workload.jobTypes.definitions.values())
    if (queue !== undefined) queueNames.add(queue);
  let started = 0;

  const startWorker = async (index: number): Promise<RunningWorker> => {
    const { sideQueueConcurrency, ...settings } = plan.workers[index]!;
    const queues = Object.fromEntries(
      [...queueNames].map((queue) => [
        queue,
        queue === "default" ? settings.concurrency : sideQueueConcurrency,
      ]),
    );
    started += 1;
    const workerId = `${name}/w${started}`;
    history.add({
      kind: "worker_started",
      at: clock.now(),
      workerId,
      limits: { concurrency: settings.concurrency, queues, maxAttempts: plan.maxAttempts ?? Infinity },
    });
    return workload.createWorker(recorded, simulated).start({
      ...settings,
      workerId,
      queues,
      leaseMs: plan.leaseMs,
      maxAttempts: plan.maxAttempts,
    });
  };

  const stopWorker = async (worker: RunningWorker): Promise<void> => {
    const since = clock.now();
    await worker.stop();
    history.add({ kind: "worker_stopped", at: clock.now(), process: name, workerId: worker.workerId, since });
  };

  const workers = await Promise.all(plan.workers.map((_worker, index) => startWorker(index)));

  return {
    process,
    simulated,
    leasehold: recorded,
    kill,
    restartWorker: async () => {
      const [worker] = workers.splice(0, 1);
      if (!worker) return;
      await stopWorker(worker);
      workers.push(await startWorker(0));
    },
    stop: async () => {
      await Promise.all(workers.map((worker) => stopWorker(worker)));
    },
  };
};

/** Like `createDeterministicRuntime`, on the process's own clock. */
const createProcessRuntime = <TDefs>(
  seed: string,
  process: VirtualProcess,
  { clock }: FleetOptions<TDefs>,
): Runtime => ({
  ...createDeterministicRuntime({ seed, clock }),
  clock: process.clock,
  createId: createUuidV7({ now: process.clock.now, randomBytes: createSeededRandom(`${seed}/ids`).bytes }),
});
