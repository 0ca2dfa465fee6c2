import { randomUUID } from "node:crypto";
import { type NatsServer, startNats } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { NotifyAdapter } from "leasehold/adapter";
import { recordCalls } from "leasehold/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";

// Workers that would not look by themselves while a test runs: what they do, a hint made them do.
const neverPollMs = 600_000;

const jobTypes = defineUnionJobTypes<{ double: { input: number; output: number } }>();

let server: NatsServer;

beforeAll(async () => {
  server = await startNats();
}, 60_000);

afterAll(() => server.stop());

const connectForEver = (): Promise<NatsConnection> =>
  connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 10 });

/** Each worker has an adapter of its own, as if it were a process of its own. */
const startFleet = async (size: number, pollIntervalMs: number, beforeAdapters?: () => Promise<void>) => {
  const subjectPrefix = `test-${randomUUID()}`;
  const connections = await Promise.all(Array.from({ length: size + 1 }, connectForEver));
  const buckets = await Promise.all(connections.map((nc) => new Kvm(nc).create("hints", { ttl: 60_000 })));
  await beforeAdapters?.();
  const adapters = await Promise.all(
    connections.map((nc, index) => createNatsNotifyAdapter({ nc, kv: buckets[index], subjectPrefix })),
  );
  const [ownAdapter, ...workerAdapters] = adapters;

  const store = recordCalls(createInProcessStateAdapter());
  const attempts = new Map<string, number>();
  const notifyErrors: string[] = [];
  const open = (notifyAdapter: NotifyAdapter) =>
    createLeasehold({
      // A copy: instances with the same state adapter hint each other within the process, beside the broker.
      stateAdapter: { ...store.adapter },
      notifyAdapter,
      jobTypes,
      observabilityAdapter: { notifyAdapterError: ({ operation }) => notifyErrors.push(operation) },
    });
  const workers = await Promise.all(
    workerAdapters.map(async (adapter) =>
      (await open(adapter))
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
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(adapters.map((adapter) => adapter.close()));
    await Promise.all(connections.map((nc) => nc.close()));
  });

  const claims = (): number => store.callsOf("claimJobs").length;
  const idle = (): boolean =>
    store.calls.every(({ outcome }) => outcome.kind !== "pending") && claims() >= size;
  await vi.waitFor(() => expect(idle()).toBe(true));

  return {
    leasehold: await open(ownAdapter!),
    connections,
    subjectPrefix,
    attempts,
    notifyErrors,
    claims,
    /** Resolves when every adapter has handled what was published before. */
    settle: async (): Promise<void> => {
      const marker = `marker-${randomUUID()}`;
      const heard = workerAdapters.map(
        (adapter) => new Promise<unknown>((resolve) => void adapter.listenJobScheduled([marker], resolve)),
      );
      await ownAdapter!.notifyJobScheduled(marker, size);
      await Promise.all(heard);
    },
  };
};

const nextStatus = async (nc: NatsConnection, type: string): Promise<void> => {
  for await (const status of nc.status()) if (status.type === type) return;
};

const hostileMessages = (id: string): (string | Uint8Array)[] => [
  "",
  "null",
  "[]",
  "{",
  '{"type":1,"count":1}',
  '{"type":"double","count":1}',
  '{"type":"double","count":1e400,"hint":"x"}',
  '{"type":"double","count":-1,"hint":"x"}',
  '{"type":"double","count":1,"hint":"../}{*"}',
  `{"type":"double","count":1000,"hint":"${randomUUID()}"}`,
  `{"type":"double","count":1000,"hint":"${randomUUID()}","revision":0}`,
  `{"type":"double","count":1000,"hint":"${randomUUID()}","revision":1}`,
  '{"__proto__":{"ids":["x"]}}',
  '{"ids":{"length":1000000000}}',
  '{"ids":[null,1,{},""]}',
  `{"ids":["${id}"]}`,
  "[".repeat(20_000),
  "x".repeat(100_000),
  Uint8Array.from([0, 255, 254, 128]),
];

type Fleet = Awaited<ReturnType<typeof startFleet>>;

const runJobs = async ({ leasehold }: Fleet, count: number): Promise<void> => {
  const sequences = Array.from({ length: count }, (_, input) => ({ typeName: "double" as const, input }));
  const started = await leasehold.startJobSequences({ sequences });
  const finished = await Promise.all(
    started.map((sequence) => leasehold.waitForJobSequenceCompletion(sequence)),
  );
  expect(finished.map(({ output }) => output)).toEqual(sequences.map(({ input }) => input * 2));
};

const ranOnce = ({ attempts }: Fleet, count: number): void => {
  expect(attempts.size).toBe(count);
  expect([...attempts.values()].every((times) => times === 1)).toBe(true);
};

describe("workers hinted over NATS", () => {
  it("one of 50 idle workers asks the store when one job is started", async () => {
    const fleet = await startFleet(50, neverPollMs);
    for (let jobs = 1; jobs <= 5; jobs += 1) {
      const before = fleet.claims();
      await runJobs(fleet, 1);
      await fleet.settle();
      expect(fleet.claims() - before).toBe(1);
    }
    ranOnce(fleet, 5);
  });

  it("about as many as there are jobs ask when several are started", async () => {
    const fleet = await startFleet(50, neverPollMs);
    const before = fleet.claims();
    await runJobs(fleet, 8);
    await fleet.settle();
    expect(fleet.claims() - before).toBeGreaterThan(0);
    expect(fleet.claims() - before).toBeLessThanOrEqual(8);
    ranOnce(fleet, 8);
  });

  it("trap 20: a broker killed in the middle costs a poll, no job and no restart", async () => {
    const fleet = await startFleet(5, 100);
    await runJobs(fleet, 20);
    const during = runJobs(fleet, 200);
    await server.shutDown("kill");
    await during;
    await runJobs(fleet, 20);
    await server.startAgain();
    await runJobs(fleet, 20);
    ranOnce(fleet, 260);
  });

  it("trap 20: a job whose hint was lost is found when the connection is back, and hints go on", async () => {
    const fleet = await startFleet(3, neverPollMs);
    const noticed = nextStatus(fleet.connections[0]!, "disconnect");
    await server.shutDown("kill");
    await noticed;
    const unheard = runJobs(fleet, 1);
    await vi.waitFor(() => expect(fleet.notifyErrors).toContain("notifyJobScheduled"), { timeout: 5_000 });
    expect(fleet.attempts.size).toBe(0);
    await server.startAgain();
    await unheard;
    await vi.waitFor(() => fleet.settle());
    await runJobs(fleet, 1);
    ranOnce(fleet, 2);
  });

  it("trap 20: without a broker for the whole run, work proceeds by polling", async () => {
    try {
      const fleet = await startFleet(5, 50, () => server.shutDown("kill"));
      await runJobs(fleet, 50);
      ranOnce(fleet, 50);
    } finally {
      await server.startAgain();
    }
  });

  it("forged and malformed messages change nothing", async () => {
    const fleet = await startFleet(5, 100);
    const { leasehold, subjectPrefix, connections } = fleet;
    const [waiting] = await leasehold.startJobSequences({
      sequences: [{ typeName: "double", input: 21, schedule: { afterMs: 3_600_000 } }],
    });
    const giveUp = new AbortController();
    const end = leasehold.waitForJobSequenceCompletion({ ...waiting!, signal: giveUp.signal });
    // Were it to end, the test would fail below.
    const ended = end.then(
      () => true,
      () => false,
    );
    for (let round = 0; round < 20; round += 1) {
      for (const message of hostileMessages(waiting!.id)) {
        for (const subject of ["sched", "seqc", "owls"])
          connections[0]!.publish(`${subjectPrefix}.${subject}`, message);
      }
    }
    await runJobs(fleet, 50);
    await fleet.settle();
    expect(await leasehold.getJob({ id: waiting!.id })).toMatchObject({ status: "pending", attempt: 0 });
    ranOnce(fleet, 50);
    giveUp.abort();
    expect(await ended).toBe(false);
  });
});
