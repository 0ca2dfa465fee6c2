import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { LeaseholdApi } from "../leasehold-api.ts";
import type { RunningWorker, WorkerBuilder, WorkerStartOptions } from "../worker/api.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import type { StateAdapter } from "../store/contract/state-adapter.ts";
import { JobSequenceFailedError } from "../store/errors.ts";
import { createLeasehold } from "../leasehold.ts";
import type { LeaseholdDefaults } from "../job-types/settings.ts";
import type { CompletedJobSequence } from "../job-types/entities.ts";
import type { ExternalJobTypeName, JobSequenceOf } from "../job-types/navigation.ts";
import type { RuntimeJobType } from "../job-types/options.ts";
import type { JobTypes } from "../job-types/define.ts";
import { patienceMs } from "./patience.ts";
import type { ScenarioFixture, ScenarioStores } from "./scenario-fixture.ts";
import { recordEvents, type StoryEvents } from "./story-events.ts";

/** A transaction of whatever store: a story can pass it on and nothing else. */
export interface StoryTransaction {
  readonly "~transaction": true;
}

export type StoryStateAdapter = StateAdapter<StoryTransaction, StoryTransaction>;

/** One application: job types on a store, with workers that stop when the story ends. */
export interface StoryApp<TDefs> {
  readonly leasehold: LeaseholdApi<TDefs, StoryTransaction, string>;
  readonly events: StoryEvents;
  /** Starts a worker that looks for jobs often. */
  work(
    worker: WorkerBuilder<TDefs, StoryTransaction, string>,
    options?: WorkerStartOptions,
  ): Promise<RunningWorker>;
  /** The sequence once it has completed. */
  completion<TTypeName extends ExternalJobTypeName<TDefs>>(sequence: {
    readonly id: string;
    readonly typeName: TTypeName;
  }): Promise<CompletedJobSequence<JobSequenceOf<string, TDefs, TTypeName>>>;
  /** What waiting for the sequence rejects with once it has failed. */
  failure(sequence: {
    readonly id: string;
    readonly typeName: ExternalJobTypeName<TDefs>;
  }): Promise<JobSequenceFailedError>;
}

export interface AppOptions {
  /** Replaces methods of the state adapter; each gets the adapter it stands in front of. */
  readonly store?: (adapter: StoryStateAdapter) => Partial<StoryStateAdapter>;
  readonly notifyAdapter?: NotifyAdapter;
  readonly createId?: () => string;
  readonly defaults?: LeaseholdDefaults;
  readonly deployment?: string;
}

export interface Story<TDefs> extends StoryApp<TDefs> {
  /** Where every job of the story goes that names no queue. No other story uses it. */
  readonly queue: string;
  readonly stateAdapter: StoryStateAdapter;
  /** Another application on the same store, as if in another process. */
  openAnother(options?: AppOptions): Promise<StoryApp<TDefs>>;
}

/** The same job types, with a queue of their own where they name none. */
const inQueue = <TDefs>(types: JobTypes<TDefs>, queue: string): JobTypes<TDefs> => {
  const find = (name: string): RuntimeJobType | undefined => {
    const settings = types.definitions.get(name) ?? (types.acceptsAnyName ? {} : undefined);
    return settings && { ...settings, queue: settings.queue ?? queue };
  };
  const definitions = Object.assign(new Map(types.definitions), { get: find });
  return { acceptsAnyName: types.acceptsAnyName, definitions };
};

const replaceMethods = (adapter: StoryStateAdapter, methods: Partial<StoryStateAdapter>): StoryStateAdapter =>
  new Proxy(adapter, {
    get: (target, name) => {
      const value: unknown = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });

/** Sets the scene, lets the story be told, and stops its workers however it ends. */
export const tellStory = async <TDefs>(
  stores: ScenarioStores,
  fixture: ScenarioFixture,
  jobTypes: JobTypes<TDefs>,
  tell: (story: Story<TDefs>) => Promise<void>,
): Promise<void> => {
  const queue = `story-${randomUUID()}`;
  const { pollIntervalMs = 10 } = fixture;
  const stateAdapter: StoryStateAdapter = stores.stateAdapter;
  const workers: RunningWorker[] = [];

  const open = async ({ store, notifyAdapter = stores.notifyAdapter, ...options }: AppOptions = {}): Promise<
    StoryApp<TDefs>
  > => {
    const events = recordEvents();
    const leasehold = await createLeasehold({
      ...options,
      stateAdapter: store ? replaceMethods(stateAdapter, store(stateAdapter)) : stateAdapter,
      notifyAdapter,
      jobTypes: inQueue(jobTypes, queue),
      observabilityAdapter: events.adapter,
    });
    const waiting = { timeoutMs: patienceMs, pollIntervalMs };
    return {
      leasehold,
      events,
      work: async (worker, options) => {
        const running = await worker.start({ pollIntervalMs, ...options });
        workers.push(running);
        return running;
      },
      completion: ({ id, typeName }) => leasehold.waitForJobSequenceCompletion({ id, typeName, ...waiting }),
      failure: async ({ id, typeName }) => {
        try {
          await leasehold.waitForJobSequenceCompletion({ id, typeName, ...waiting });
        } catch (error) {
          if (error instanceof JobSequenceFailedError) return error;
          throw error;
        }
        return assert.fail(`Sequence ${id} completed; it should have failed`);
      },
    };
  };

  try {
    await tell({ ...(await open()), queue, stateAdapter, openAnother: open });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop({ deadlineMs: 0 })));
  }
};
