import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { readProcessLog } from "./testing/process-log.ts";
import { forkProcess, type ProcessMessage, type TestProcess } from "./testing/processes.ts";
import { createTestStore, testDriver, type TestStore } from "./testing/store.ts";

let store: TestStore | undefined;

let processes: TestProcess[] = [];

afterEach(async () => {
  for (const child of processes) child.kill();
  processes = [];
  await store?.destroy();
  store = undefined;
});

it(
  "four workers and two producers share a file: no job is lost or doubled, nobody sees a lock, the log stays small",
  { timeout: 60_000 },
  async () => {
    store = await createTestStore();
    const { file, adapter } = store;
    const log = join(file, "..", "log");
    const options = { file, driver: testDriver, log };
    const started: string[] = [];
    const errors: string[] = [];
    let completed = 0;
    let largestWal = 0;
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let producing = 2;
    const onMessage = (message: ProcessMessage): void => {
      if (message.error !== undefined) errors.push(message.error);
      if (message.started !== undefined) started.push(...message.started);
      if (message.completed !== undefined) completed += 1;
      if (completed % 50 === 0) largestWal = Math.max(largestWal, statSync(`${file}-wal`).size);
      if (errors.length > 0 || (producing === 0 && completed >= started.length)) finish();
    };

    const workers = Array.from({ length: 4 }, () => forkProcess("work", options, onMessage));
    processes.push(...workers);
    await Promise.all(workers.map(({ ready }) => ready));
    const producers = Array.from({ length: 2 }, () =>
      forkProcess("produce", { ...options, jobs: 600 }, onMessage),
    );
    processes.push(...producers);
    await Promise.all(producers.map(({ exited }) => exited));
    producing = 0;
    onMessage({});
    await finished;
    await Promise.all(workers.map((worker) => worker.stop()));

    expect(errors).toEqual([]);
    expect(started.length).toBeGreaterThanOrEqual(1_200);
    const executed = readProcessLog(log, "executed");
    expect([...executed.keys()].sort()).toEqual(started.sort());
    expect([...executed.values()].every((times) => times === 1)).toBe(true);
    expect(await adapter.countJobs({ filter: {} })).toEqual([
      { queue: "default", typeName: "count", status: "completed", count: started.length },
    ]);
    expect(largestWal).toBeLessThan(64 * 1024 * 1024);
  },
);
