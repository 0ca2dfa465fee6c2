import type { JobFilter, JobPage, StateJob } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { countRowsRead } from "../testing/rows-read.ts";
import { newJob } from "../testing/test-jobs.ts";

/** An id as Leasehold makes them. */
const idAt = (ms: number, n: number): string => {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${n.toString(16).padStart(3, "0")}-8000-000000000000`;
};

const begin = Date.now() - 86_400_000;

describe("a long list of jobs whose ids are in the order of time", () => {
  let fixture: Fixture;
  let pool: pg.Pool;
  beforeAll(async () => {
    fixture = await createPgFixture(inject("postgres18Url"));
    pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
    const jobs = Array.from({ length: 40 }, (_, n) => ({
      ...newJob({ id: idAt(begin + n, 0), typeName: n === 0 ? "rare" : "work" }),
      ...(n === 2 && { group: "acme" }),
      ...(n === 3 && { recurrence: '{"id":"nightly"}' }),
    }));
    for (const [n, job] of jobs.entries()) await fixture.adapter.createJobs({ jobs: [job], now: begin + n });
    // 120,000 more, later than these.
    const { rows } = await pool.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${fixture.schema}.job'::regclass AND attnum > 0
        AND NOT attisdropped AND attidentity = ''`,
    );
    const names = rows.map(({ name }) => name);
    const values = names.map((name) => {
      if (["id", "sequence_id", "root_sequence_id"].includes(name)) return "copy.id";
      return ["created_at", "sequence_created_at"].includes(name) ? "copy.at" : `j.${name}`;
    });
    await pool.query(
      `INSERT INTO ${fixture.schema}.job (${names.join(", ")}) SELECT ${values.join(", ")} FROM ${fixture.schema}.job AS j
        CROSS JOIN (
          SELECT at, (substr(hex, 1, 8) || '-' || substr(hex, 9) || '-7000-8000-000000000000')::uuid AS id
          FROM (SELECT at, lpad(to_hex(at), 12, '0') AS hex FROM generate_series($1::bigint, $2::bigint) AS at) AS moment
        ) AS copy WHERE j.id = $3`,
      [begin + 1_000, begin + 120_999, jobs[1]!.id],
    );
  }, 60_000);
  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  const list = (
    filter: JobFilter,
    limit = 50,
    after: JobPage["next"] = null,
    order: "newest" | "oldest" = "newest",
  ) => fixture.adapter.listJobs({ filter, order, limit, after });

  const listAll = async (filter: JobFilter, order: "newest" | "oldest", limit: number) => {
    const jobs: StateJob[] = [];
    let [calls, after]: [number, JobPage["next"]] = [0, null];
    do {
      const page: JobPage = await list(filter, limit, after, order);
      jobs.push(...page.jobs);
      after = page.next;
      calls += 1;
    } while (after !== null);
    return { jobs, calls };
  };

  const rowsRead = (work: () => Promise<unknown>): Promise<number> => countRowsRead(fixture, pool, work);

  it("finds the jobs of a group or of a recurring job by an index", async () => {
    for (const filter of [
      { groups: ["acme"] },
      { groups: ["acme"], statuses: ["pending", "completed"] as const },
      { recurringJobIds: ["nightly"] },
    ]) {
      let page: JobPage | undefined;
      const read = await rowsRead(async () => {
        page = await list(filter);
      });
      expect(page!.jobs, JSON.stringify(filter)).toHaveLength(1);
      expect(page!.next).toBeNull();
      expect(read, JSON.stringify(filter)).toBeLessThan(100);
    }
  });

  it("shows the newest at once", async () => {
    let page: JobPage | undefined;
    expect(
      await rowsRead(async () => {
        page = await list({});
      }),
    ).toBeLessThan(2_000);
    expect(page!.jobs.map(({ createdAt }) => createdAt)).toEqual(
      Array.from({ length: 50 }, (_, n) => begin + 120_999 - n),
    );
  });

  it("shows the newest sequences and trees at once", async () => {
    for (const firstOf of ["sequence", "tree"] as const)
      expect(await rowsRead(() => list({ firstOf }))).toBeLessThan(2_000);
  });

  it("finds a rare job in pages, some of them empty, each of which reads a bounded number of jobs", async () => {
    expect(await rowsRead(() => list({ typeNames: ["rare"] }))).toBeLessThan(60_000);
    const { jobs, calls } = await listAll({ typeNames: ["rare"] }, "newest", 50);
    expect(jobs.map(({ createdAt }) => createdAt)).toEqual([begin]);
    expect(calls).toBe(3);
    expect((await listAll({ typeNames: ["none"] }, "oldest", 50)).jobs).toEqual([]);
  });

  it("finds the few jobs of a state without reading the others, in both orders", async () => {
    const { rowCount } = await pool.query(
      `UPDATE ${fixture.schema}.job SET status = 'blocked', ready = false WHERE created_at < $1`,
      [begin + 40],
    );
    expect(rowCount).toBe(40);
    const filter = { statuses: ["blocked", "running"] } as const;
    expect(await rowsRead(() => list(filter))).toBeLessThan(200);
    const { jobs } = await listAll(filter, "oldest", 7);
    expect(jobs.map(({ createdAt }) => createdAt - begin)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect((await listAll(filter, "newest", 13)).jobs).toEqual(jobs.toReversed());
    expect((await list({ ...filter, typeNames: ["rare"] })).jobs).toHaveLength(1);
    // Where there are many, the newest come first without any being sorted.
    expect(await rowsRead(() => list({ statuses: ["pending", "blocked"] }))).toBeLessThan(15_000);
    await pool.query(
      `UPDATE ${fixture.schema}.job SET status = 'pending', ready = true WHERE created_at < $1`,
      [begin + 40],
    );
  });

  it.each([
    ["its type and deduplication key", true],
    ["its deduplication key alone", false],
  ])("finds a job by %s without reading the others", async (_name, withType) => {
    const deduplication = { key: "order 7", scope: "unfinished", windowMs: null } as const;
    const job = newJob({ id: idAt(begin + 50, 0), deduplication });
    await fixture.adapter.createJobs({ jobs: [job], now: begin + 50 });
    const filter = {
      deduplicationKeys: ["order 7"],
      ...(withType && { sequenceTypeNames: [job.sequenceTypeName] }),
    };
    let page: JobPage | undefined;
    const read = await rowsRead(async () => {
      page = await list(filter);
      if (withType) await fixture.adapter.countJobs({ filter });
    });
    expect(page?.jobs.map(({ id }) => id)).toEqual([job.id]);
    expect(read).toBeLessThan(100);
    await fixture.adapter.deleteSequences({ rootSequenceIds: [job.id] });
  });

  it("neither repeats nor skips, in both orders, and starts where a time bound says", async () => {
    const filter = { createdFrom: begin + 10, createdBefore: begin + 1_100 };
    const { jobs } = await listAll(filter, "oldest", 7);
    expect(jobs.map(({ createdAt }) => createdAt)).toEqual([
      ...Array.from({ length: 30 }, (_, n) => begin + 10 + n),
      ...Array.from({ length: 100 }, (_, n) => begin + 1_000 + n),
    ]);
    expect((await listAll(filter, "newest", 13)).jobs).toEqual(jobs.toReversed());
  });

  it("uses the time of creation as soon as there is an id of another kind", async () => {
    const foreign = newJob({ id: `f${randomUUID().slice(1)}` });
    await fixture.adapter.createJobs({ jobs: [foreign], now: begin + 5 });
    const { jobs } = await list({ createdBefore: begin + 8 }, 4);
    expect(jobs.map(({ createdAt }) => createdAt - begin)).toEqual([7, 6, 5, 5]);
    await fixture.adapter.deleteSequences({ rootSequenceIds: [foreign.id] });
  });

  it("finds the few jobs that are due without reading those for later", async () => {
    const tomorrow = begin + 2 * 86_400_000;
    await pool.query(
      `UPDATE ${fixture.schema}.job SET ready = false, scheduled_at = $1, due_at = $1 WHERE created_at >= $2`,
      [tomorrow, begin + 1_000],
    );
    const filter = { statuses: ["pending"], scheduledBefore: tomorrow } as const;
    expect(await rowsRead(() => list(filter))).toBeLessThan(200);
    const { jobs } = await listAll(filter, "oldest", 7);
    expect(jobs.map(({ createdAt }) => createdAt - begin)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect((await list({ statuses: ["pending"], scheduledFrom: tomorrow }, 3)).jobs).toHaveLength(3);
  });
});
