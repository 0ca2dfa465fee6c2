import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { readProcessLog } from "./testing/process-log.ts";
import { forkProcess, type ProcessMessage, type TestProcess } from "./testing/processes.ts";
import { createTestStore, testDriver, type TestStore } from "./testing/store.ts";

// The long form, `scripts/kill-test.mjs`, sets these.
const kills = Number(process.env["LEASEHOLD_SQLITE_KILLS"] ?? 3);

const jobsPerKill = Number(process.env["LEASEHOLD_SQLITE_KILL_JOBS"] ?? 400);

const leaseMs = 300;

let store: TestStore | undefined;

let processes: TestProcess[] = [];

afterEach(async () => {
  for (const child of processes) child.kill();
  await Promise.allSettled(processes.map(({ exited }) => exited));
  processes = [];
  await store?.destroy();
  store = undefined;
});

it(
  `whenever worker and producer are killed, the file opens and nothing acknowledged is lost (${kills} kills)`,
  { timeout: 60_000 + kills * 30_000 },
  async () => {
    store = await createTestStore();
    const { file, adapter } = store;
    const log = join(file, "..", "log");
    appendFileSync(log, "");
    const options = { file, driver: testDriver, log, leaseMs };
    const started: string[] = [];
    const errors: string[] = [];
    let completed = 0;
    let onProgress = (): void => undefined;
    const onMessage = (message: ProcessMessage): void => {
      if (message.error !== undefined) errors.push(message.error);
      if (message.started !== undefined) started.push(...message.started);
      if (message.completed !== undefined) completed += 1;
      onProgress();
    };
    const run = (name: "work" | "produce"): TestProcess => {
      const child = forkProcess(name, { ...options, jobs: jobsPerKill }, onMessage);
      processes.push(child);
      return child;
    };
    const reach = (isReached: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        onProgress = () => {
          if (isReached()) resolve();
        };
        onProgress();
      });

    const assertIntact = async (): Promise<void> => {
      const rows = await adapter.provideContext(async ({ client }) =>
        client.prepare("PRAGMA integrity_check").all(),
      );
      expect(rows).toEqual([{ integrity_check: "ok" }]);
      const jobs = await adapter.getJobs({ jobIds: started });
      expect(started.filter((_id, index) => jobs[index] === undefined)).toEqual([]);
      const acknowledged = [...readProcessLog(log, "completed").keys()];
      const ended = await adapter.getJobs({ jobIds: acknowledged });
      expect(ended.filter((job) => job?.status !== "completed")).toEqual([]);
    };

    for (let round = 0; round < kills; round += 1) {
      const [worker, producer] = [run("work"), run("produce")];
      const [producerEnds, workerEnds] = [Math.random() * 1.2, Math.random()].map(
        (part) => part * jobsPerKill,
      );
      const [startedBefore, completedBefore] = [started.length, completed];
      await reach(() => started.length - startedBefore >= Math.min(producerEnds ?? 0, jobsPerKill));
      if ((producerEnds ?? 0) < jobsPerKill) producer.kill();
      await producer.exited;
      const left = started.length - completedBefore;
      await reach(() => completed - completedBefore >= Math.min(workerEnds ?? 0, left));
      worker.kill();
      await worker.exited;
      await assertIntact();
      // The last messages of the worker may not have arrived.
      completed = (await adapter.countJobs({ filter: { statuses: ["completed"] } }))[0]?.count ?? 0;
    }

    const worker = run("work");
    const open = { statuses: ["blocked", "pending", "running"] } as const;
    for (;;) {
      const progress = new Promise<void>((resolve) => {
        onProgress = resolve;
      });
      if ((await adapter.countJobs({ filter: open })).length === 0) break;
      await progress;
    }
    await worker.stop();
    await assertIntact();
    expect(errors).toEqual([]);
    const counts = await adapter.countJobs({ filter: {} });
    expect(counts.map(({ status }) => status)).toEqual(["completed"]);
    // A job runs again only when its worker was killed while it held it: each time it has been claimed anew.
    const executions = readProcessLog(log, "executed");
    expect(executions.size).toBe(counts[0]?.count ?? 0);
    for (const job of await adapter.getJobs({ jobIds: [...executions.keys()] }))
      expect(executions.get(job!.id)).toBeLessThanOrEqual(job!.attempt);
  },
);
