import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { newJob } from "../testing/jobs.ts";
import { forkProcess, type ProcessMessage, type TestProcess } from "../testing/processes.ts";
import { createTestStore, testDriver, type TestStore } from "../testing/store.ts";

// The long form, `scripts/kill-test.mjs`, sets these.
const kills = Number(process.env["LEASEHOLD_SQLITE_KILLS"] ?? 4);

const workers = 3;

const limit = 3;

const jobsPerKill = 40;

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
  `whenever workers are killed, no more than ${limit} jobs run at once, and all slots come back (${kills} kills)`,
  { timeout: 60_000 + kills * 30_000 },
  async () => {
    store = await createTestStore();
    const { file, adapter } = store;
    const log = join(file, "..", "log");
    appendFileSync(log, "");
    const scope = { queue: "default", typeName: "count" };
    const perGroup = { concurrency: 2, rate: null };
    await adapter.limits.setRule({ ...scope, typeName: null, change: { concurrency: limit } });
    await adapter.limits.setRule({ ...scope, change: { perGroup } });
    const jobs = Array.from({ length: kills * jobsPerKill }, (_, index) =>
      newJob({ ...scope, group: `group-${index % 5}`, maxAttempts: 1_000 }),
    );
    await adapter.createJobs({ jobs });

    const errors: string[] = [];
    let completed = 0;
    let onProgress = (): void => undefined;
    const onMessage = (message: ProcessMessage): void => {
      if (message.error !== undefined) errors.push(message.error);
      if (message.completed !== undefined) completed += 1;
      onProgress();
    };
    const run = (): TestProcess => {
      const child = forkProcess(
        "work",
        { file, driver: testDriver, log, leaseMs: 300, workMs: 5 },
        onMessage,
      );
      processes.push(child);
      return child;
    };
    const progress = (): Promise<void> =>
      new Promise((resolve) => {
        onProgress = resolve;
      });

    let most = 0;
    const look = async (): Promise<number> => {
      const counts = await adapter.countJobs({ filter: { statuses: ["running"] } });
      const running = counts.reduce((sum, { count }) => sum + count, 0);
      most = Math.max(most, running);
      const { counters } = await adapter.limits.repairCounters({ repair: false });
      expect(counters).toEqual([]);
      return running;
    };

    // What happens during the look counts, too: it may have been the last that will.
    const lookUntilProgress = async (): Promise<void> => {
      const next = progress();
      await look();
      await next;
    };

    let team = Array.from({ length: workers }, run);
    for (let round = 1; round <= kills; round += 1) {
      while (completed < round * jobsPerKill * (0.5 + Math.random() / 4)) {
        await lookUntilProgress();
      }
      const [victim, ...others] = team;
      victim?.kill();
      await victim?.exited;
      await look();
      team = [...others, run()];
    }
    const open = { statuses: ["pending", "running"] } as const;
    for (;;) {
      const next = progress();
      if ((await adapter.countJobs({ filter: open })).length === 0) break;
      await look();
      await next;
    }
    await Promise.all(team.map((worker) => worker.stop()));

    expect(errors).toEqual([]);
    expect(await look()).toBe(0);
    expect(most).toBe(limit);
    const uses = await adapter.limits.listRules({ queue: "default" });
    expect(uses.map(({ running, throttledGroups }) => [running, throttledGroups])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(await adapter.countJobs({ filter: {} })).toEqual([
      { ...scope, status: "completed", count: jobs.length },
    ]);
  },
);
