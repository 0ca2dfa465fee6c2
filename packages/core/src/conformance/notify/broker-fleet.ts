import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Leasehold } from "../../leasehold-api.ts";
import type { NotifyAdapter } from "../../notify/contract.ts";
import { createLeasehold } from "../../leasehold.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "../../memory/state-adapter.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { recordCalls } from "../../testing/record-calls.ts";
import type { BrokerConnections, BrokerFixture } from "../notify-broker-fixture.ts";
import { until, within } from "../patience.ts";

interface FleetJobTypes {
  double: { input: number; output: number };
}
type FleetLeasehold = Leasehold<FleetJobTypes, InProcessStateAdapter>;

const jobTypes = defineUnionJobTypes<FleetJobTypes>();

const open = (
  stateAdapter: InProcessStateAdapter,
  notifyAdapter: NotifyAdapter,
  errors: string[],
): Promise<FleetLeasehold> =>
  createLeasehold({
    // A copy: whoever shares a state adapter is notified within the process, and not only over the broker.
    stateAdapter: { ...stateAdapter },
    notifyAdapter,
    jobTypes,
    observabilityAdapter: { notifyAdapterError: ({ operation }) => void errors.push(operation) },
  });

export interface Fleet {
  readonly leasehold: FleetLeasehold;
  readonly connections: BrokerConnections;
  /** How often each job was attempted, by id. */
  readonly attempts: ReadonlyMap<string, number>;
  /** The calls of the notify adapters that have failed. */
  readonly notifyErrors: readonly string[];
  /** How often workers have asked the store for jobs. */
  claims(): number;
  runJobs(count: number): Promise<void>;
  assertRanOnce(count: number): void;
  /** Resolves when every adapter has handled what was published before. */
  settle(): Promise<void>;
}

export interface FleetOptions {
  readonly size: number;
  readonly pollIntervalMs: number;
  /** Between the connections and the adapters. */
  readonly beforeAdapters?: () => Promise<void>;
}

/** Workers over one store in memory. Each has a connection and an adapter of its own, as in a process of its own. */
export const withFleet = async (
  fixture: BrokerFixture,
  { size, pollIntervalMs, beforeAdapters }: FleetOptions,
  run: (fleet: Fleet) => Promise<void>,
): Promise<void> => {
  const connections = await fixture.connect(size + 1);
  await beforeAdapters?.();
  const adapters = await connections.createAdapters();
  const [ownAdapter, ...workerAdapters] = adapters;
  assert.ok(
    ownAdapter && workerAdapters.length === size,
    "The fixture makes an adapter for each connection.",
  );

  const store = recordCalls(createInProcessStateAdapter());
  const attempts = new Map<string, number>();
  const notifyErrors: string[] = [];
  const workers = await Promise.all(
    workerAdapters.map(async (adapter) =>
      (await open(store.adapter, adapter, notifyErrors))
        .createWorker()
        .implementJobType({
          typeName: "double",
          process: async ({ job }) => {
            attempts.set(job.id, (attempts.get(job.id) ?? 0) + 1);
            return job.input * 2;
          },
        })
        .start({ pollIntervalMs }),
    ),
  );
  const claims = (): number => store.callsOf("claimJobs").length;
  const leasehold = await open(store.adapter, ownAdapter, notifyErrors);

  const fleet: Fleet = {
    leasehold,
    connections,
    attempts,
    notifyErrors,
    claims,
    runJobs: async (count) => {
      const sequences = Array.from({ length: count }, (_, input) => ({ typeName: "double" as const, input }));
      const started = await leasehold.startJobSequences({ sequences });
      const finished = await Promise.all(
        started.map((sequence) => leasehold.waitForJobSequenceCompletion(sequence)),
      );
      assert.deepEqual(
        finished.map(({ output }) => output),
        sequences.map(({ input }) => input * 2),
      );
    },
    assertRanOnce: (count) => {
      assert.equal(attempts.size, count);
      assert.ok([...attempts.values()].every((times) => times === 1));
    },
    settle: async () => {
      const marker = `marker-${randomUUID()}`;
      const heard = workerAdapters.map(
        (adapter) => new Promise<unknown>((resolve) => void adapter.listenJobScheduled([marker], resolve)),
      );
      await ownAdapter.notifyJobScheduled(marker, size);
      await within(Promise.all(heard), "everyone to hear the marker");
    },
  };
  try {
    const isIdle = (): boolean => store.calls.every(({ outcome }) => outcome.kind !== "pending");
    await until(() => claims() >= size && isIdle(), "all workers are idle");
    // An adapter whose subscription is delayed makes its worker claim once more when it is complete.
    if (beforeAdapters === undefined) {
      await fleet.settle();
      await until(isIdle, "all workers are idle again");
    }
    await run(fleet);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(adapters.map((adapter) => adapter.close()));
    await connections.close();
  }
};
