import type { NewCause, ReportCall, StatisticsBucket } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { createGate } from "../testing/gate.ts";
import { until } from "../testing/until.ts";

const url = inject("postgres18Url");

const bucketMs = 10_000;

const bucket = (from: number, processId: string, counts: string): StatisticsBucket => ({
  bucketMs,
  from: from * bucketMs,
  queue: "default",
  typeName: "work",
  deployment: "",
  processId,
  counts,
});

const reportOf = (
  id: string,
  buckets: readonly StatisticsBucket[],
  causes: readonly NewCause[] = [],
): ReportCall => ({
  reporter: { id, deployment: null, startedAt: 1, info: "{}" },
  buckets,
  causes,
  maxAgeMs: 1e15,
});

describe("two processes", () => {
  let fixture: Fixture;
  let other: Fixture["adapter"];
  let pool: pg.Pool;
  let direct: pg.Pool;
  beforeAll(async () => {
    fixture = await createPgFixture(url);
    pool = new pg.Pool({ connectionString: url, max: 4, application_name: fixture.schema });
    direct = new pg.Pool({ connectionString: url, max: 1 });
    const stateProvider = createPgPoolStateProvider({ pool });
    other = await createPgStateAdapter({ stateProvider, schema: fixture.schema });
  });
  afterAll(async () => {
    await other.close();
    await pool.end();
    await direct.end();
    await fixture.destroy();
  });

  const read = async (): Promise<StatisticsBucket[]> =>
    fixture.adapter.history.readBuckets({ bucketMs, from: 0, before: 1e15, limit: 1_000 });

  const clear = (): Promise<unknown> => direct.query(`DELETE FROM ${fixture.schema}.statistics_bucket`);

  const isOtherWaiting = async (): Promise<boolean> => {
    const { rows } = await direct.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
      [fixture.schema],
    );
    return rows.length > 0;
  };

  /** Lets the first do something in a transaction, and the other begin before that commits. */
  const whileUncommitted = async <T>(
    first: (ctx: object) => Promise<unknown>,
    second: () => Promise<T>,
    isReady: () => Promise<boolean>,
  ): Promise<T> => {
    const done = createGate();
    const mayCommit = createGate();
    const transaction = fixture.adapter.runInTransaction(async (ctx: object) => {
      await first(ctx);
      done.open();
      await mayCommit.opened;
    });
    await done.opened;
    const result = second();
    await until(isReady, "the other has come as far as it can");
    mayCommit.open();
    await transaction;
    return result;
  };

  it("roll up the same rows at once: one of them does, and no row is counted twice", async () => {
    for (let round = 0; round < 30; round += 1) {
      await clear();
      const rows = Array.from({ length: 20 }, (_, n) => bucket(n, randomUUID(), "1"));
      await fixture.adapter.history.writeReport(reportOf("a", rows));
      const remove = await read();
      // In the opposite order, which would be a deadlock if the order given were that of the locks.
      const calls = [
        fixture.adapter.history.rollUpBuckets({ remove, put: [bucket(0, "", "20")] }),
        other.history.rollUpBuckets({ remove: remove.toReversed(), put: [bucket(0, "", "20")] }),
      ];
      const rolledUp = await Promise.all(calls);
      expect(rolledUp.filter(Boolean)).toHaveLength(1);
      expect(await read()).toEqual([bucket(0, "", "20")]);
    }
  }, 30_000);

  it("roll up a row that the other has just overwritten: the later one does nothing", async () => {
    await clear();
    const [early, late] = [bucket(1, "a", "1"), bucket(1, "a", "2")];
    await fixture.adapter.history.writeReport(reportOf("a", [early]));
    const rolledUp = await whileUncommitted(
      (ctx) => fixture.adapter.history.writeReport({ ...reportOf("a", [late]), ctx }),
      () => other.history.rollUpBuckets({ remove: [early], put: [bucket(1, "", "1")] }),
      isOtherWaiting,
    );
    expect(rolledUp).toBe(false);
    expect(await read()).toEqual([late]);
  });

  it("put the same row for different ones: the later one does nothing, and leaves nothing of what it began", async () => {
    await clear();
    const [one, two] = [bucket(1, "a", "1"), bucket(2, "a", "2")];
    await fixture.adapter.history.writeReport(reportOf("a", [one, two]));
    const rolledUp = await whileUncommitted(
      (ctx) => fixture.adapter.history.rollUpBuckets({ remove: [one], put: [bucket(5, "", "1")], ctx }),
      () => other.history.rollUpBuckets({ remove: [two], put: [bucket(4, "", "0"), bucket(5, "", "2")] }),
      isOtherWaiting,
    );
    expect(rolledUp).toBe(false);
    expect(await read()).toEqual([two, bucket(5, "", "1")]);
  });

  it("report a new cause at the same time: neither waits for the other, and the first one stays", async () => {
    const cause = (message: string): NewCause => ({
      fingerprint: "a".repeat(16),
      name: "Error",
      message,
      frame: null,
      deployment: null,
    });
    let isDone = false;
    await whileUncommitted(
      (ctx) => fixture.adapter.history.writeReport({ ...reportOf("a", [], [cause("first")]), ctx }),
      () => other.history.writeReport(reportOf("b", [], [cause("second")])).then(() => (isDone = true)),
      async () => isDone,
    );
    await other.history.writeReport(reportOf("b", [], [cause("third")]));
    const { rows } = await direct.query(`SELECT message FROM ${fixture.schema}.failure_cause`);
    expect(rows).toEqual([{ message: "first" }]);
  });
});
