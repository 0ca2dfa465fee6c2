import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime } from "leasehold";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";

let kit: Kit;
beforeEach(async () => {
  kit = await openKit({ url: inject("postgres15Url") });
});
afterEach(() => kit.close());

/** For a process whose clock is wrong by this much. */
const wrongBy = (offsetMs: number): Runtime => ({
  clock: {
    now: () => Date.now() + offsetMs,
    monotonic: () => performance.now() + offsetMs,
    setTimer: (callback, delayMs) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
    soon: (callback) => {
      setImmediate(callback);
    },
  },
  random: Math.random,
  createId: randomUUID,
  createToken: randomUUID,
});

describe("workers whose clocks are an hour slow and an hour fast", () => {
  it("never take a job from each other while its lease is kept", async () => {
    const runs = new Map<string, number>();
    const hourMs = 3_600_000;
    const others = await Promise.all(
      [-hourMs, hourMs].map((offset) =>
        openKit({
          url: inject("postgres15Url"),
          schema: kit.schema,
          leasehold: { runtime: wrongBy(offset) },
        }),
      ),
    );
    const workers = await Promise.all(
      others.map(({ leasehold }) =>
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "work",
            process: async ({ job }) => {
              runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
              await sleep(1_500);
              return 0;
            },
          })
          .start({ concurrency: 10, leaseMs: 1_000, pollIntervalMs: 50, reapIntervalMs: 50 }),
      ),
    );
    await kit.start(30);
    await kit.allCompleted(30);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect([...runs.values()]).toEqual(Array.from({ length: 30 }, () => 1));
    expect(await kit.rows("SELECT FROM $schema.job WHERE expired_leases > 0 OR lease_version > 1")).toEqual(
      [],
    );
    for (const other of others) await other.stateAdapter.close();
    await others[0]!.close();
    await others[1]!.close();
  });
});
