import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { createLeasehold, type DefineBlocker, defineUnionJobTypes } from "leasehold";
import { MongoClient } from "mongodb";
import { afterEach, expect, it } from "vitest";
import { createMongoStateProvider } from "./database/provider.ts";
import { createMongoStateAdapter } from "./state-adapter.ts";
import { forkWorker, type WorkerProcess } from "./testing/worker-process.ts";

const kills = 3;

const executionsPerKill = 8;

const leaseMs = 1_000;

type Defs = {
  count: { input: { mode: "atomic" | "staged"; next: number }; output: string };
  gather: { input: null; output: string; blockers: [DefineBlocker<"count">, DefineBlocker<"count">] };
};

let server: MongoTestServer | undefined;

let client: MongoClient | undefined;

let processes: WorkerProcess[] = [];

afterEach(async () => {
  for (const child of processes) child.kill();
  await Promise.allSettled(processes.map(({ exited }) => exited));
  processes = [];
  await client?.close();
  await server?.stop();
});

it(
  `a worker process is killed ${kills} times in the middle of its transactions, and every job commits once`,
  { timeout: 60_000 },
  async () => {
    // A killed process leaves its transactions open for so long, and with them its jobs locked.
    server = await startMongoTestServer({ transactionLifetimeMs: 1_500 });
    client = new MongoClient(server.uri);
    const database = "killed";
    const stateAdapter = await createMongoStateAdapter({
      stateProvider: createMongoStateProvider({ client, database }),
    });
    const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<Defs>() });
    const results = client.db(database).collection<{ _id: string; times: number }>("results");

    let executions = 0;
    let onExecuted = (): void => undefined;
    const run = (): WorkerProcess => {
      const child = forkWorker({ uri: server!.uri, database, leaseMs }, () => {
        executions += 1;
        onExecuted();
      });
      processes.push(child);
      return child;
    };
    const executed = (count: number): Promise<void> =>
      new Promise((resolve) => {
        onExecuted = () => {
          if (executions >= count) resolve();
        };
        onExecuted();
      });

    const started = [];
    for (let n = 0; n < 8; n++) {
      const count = (mode: "atomic" | "staged") =>
        leasehold.startJobSequence({ typeName: "count", input: { mode, next: 1 }, maxAttempts: 100 });
      started.push(
        await leasehold.startJobSequence({
          typeName: "gather",
          maxAttempts: 100,
          startBlockers: async () => [await count("atomic"), await count("staged")],
        }),
      );
    }
    await results.createIndex({ times: 1 });
    for (let round = 1; round <= kills; round++) {
      const child = run();
      await executed(round * executionsPerKill);
      child.kill();
      await child.exited;
    }
    const last = run();
    await Promise.all(
      started.map((sequence) => leasehold.waitForJobSequenceCompletion({ ...sequence, timeoutMs: 50_000 })),
    );
    await last.stop();

    const counts = await leasehold.jobs.count();
    expect(counts.map(({ typeName, status, count }) => `${count} ${typeName} ${status}`).sort()).toEqual([
      "32 count completed",
      "8 gather completed",
    ]);
    expect(await results.countDocuments({ times: 1 })).toBe(32);
    expect(await results.countDocuments({})).toBe(32);
    await leasehold.close();
  },
);
