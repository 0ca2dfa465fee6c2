import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openShop } from "../testing/open-shop.ts";
import { openShopWithPast, type ShopWithPast } from "../testing/shop-with-past.ts";

let shop: ShopWithPast;
// An hour of jobs, in seconds.
beforeAll(async () => {
  shop = await openShopWithPast();
}, 60_000);

afterAll(() => shop.close());

interface Row {
  readonly queue: string;
  readonly typeName: string;
  readonly startP95: number;
}

const find = (rows: readonly Row[], queue: string): Row => rows.find((row) => row.queue === queue)!;

describe("statistics", () => {
  it("are of the latest hour: over time, by queue and by type", async () => {
    const { body } = await shop.read("statistics");
    expect(body).toMatchObject({ from: "2026-03-03T12:44:00.000Z", bucketMs: 60_000, isEstimate: true });
    expect(body.points[0]).toMatchObject({ at: "2026-03-03T12:44:00.000Z", created: 49, completed: 49 });
    expect(
      body.queues.map(({ queue, created }: { queue: string; created: number }) => [queue, created]),
    ).toEqual(
      expect.arrayContaining([
        ["default", 720],
        ["mail", 1_440],
        ["payments", 720],
        ["reports", 60],
      ]),
    );
    expect(find(body.types, "mail")).toMatchObject({ typeName: "send-email", created: 1_440 });
    expect(find(body.queues, "mail").startP95).toBeGreaterThan(60_000);
    expect(find(body.queues, "default").startP95).toBeLessThan(1_000);
  });

  it("tell failures of types apart, and name the deployment that came", async () => {
    const { body } = await shop.read("statistics");
    expect(body.failures).toMatchObject([
      { typeName: "send-email" },
      { typeName: "charge-payment", failed: 7 },
    ]);
    // Mails have failed since 13:20 only.
    expect(body.failures[0].points[0].at).toBe("2026-03-03T13:20:00.000Z");
    expect(body.deployments).toEqual([{ deployment: "7f3c2a1", at: "2026-03-03T13:20:00.000Z" }]);
  });

  it("call no deployment new that did nothing at the beginning, but was there before", async () => {
    // A report is made every minute, so nothing happens in the first half of this one.
    const { body } = await shop.read("statistics?queue=reports&minutes=5&before=2026-03-03T13:43:30Z");
    expect(body.points[0].at).toBe("2026-03-03T13:39:00.000Z");
    expect(body.deployments).toEqual([]);
  });

  it("are of one queue, and of a past range, if requested", async () => {
    const query = "statistics?queue=mail&minutes=15&before=2026-03-03T13:15:00Z";
    const { body } = await shop.read(query);
    expect(body).toMatchObject({ from: "2026-03-03T13:00:00.000Z", before: "2026-03-03T13:15:00.000Z" });
    expect(body.queues).toMatchObject([{ queue: "mail", created: 360, completed: 360, failed: 0 }]);
    expect(body.deployments).toEqual([]);
    expect(find(body.queues, "mail").startP95).toBeLessThan(1_000);
  });

  it("refuse a time that does not end after it begins", async () => {
    for (const query of [
      "from=2026-03-03T13:00:00Z&before=2026-03-03T12:00:00Z",
      "from=2099-01-01T00:00:00Z",
    ])
      expect(await shop.read(`statistics?${query}`)).toMatchObject({
        status: 400,
        body: { error: { code: "bad_request" } },
      });
  });
});

describe("the time to start", () => {
  it("is by queue and minute, with the percentiles of all types of a queue", async () => {
    const { body } = await shop.read("time-to-start");
    expect(body).toMatchObject({ from: "2026-03-03T12:44:00.000Z", bucketMs: 60_000, left: 0 });
    const { queues } = body as { queues: { queue: string; p95: (number | null)[]; ended: number[] }[] };
    expect(queues[0]!.ended.slice(0, 3)).toEqual([12, 12, 12]);
    expect(queues.map(({ queue }) => queue)).toEqual(["default", "mail", "payments", "reports"]);
    const mail = queues[1]!.p95;
    expect(mail.length).toBe(61);
    expect(Math.max(...mail.slice(0, 36).map(Number))).toBeLessThan(1_000);
    expect(mail[59]!).toBeGreaterThan(mail[40]!);
    expect(mail[59]!).toBeGreaterThan(5 * 60_000);
  });

  it("has longer parts where the time is longer", async () => {
    const { body } = await shop.read("time-to-start?minutes=1440");
    expect(body.bucketMs).toBe(900_000);
    expect(body.queues[0].p95.length).toBeLessThanOrEqual(100);
  });

  it("shows the fifty busiest queues and says how many are left", async () => {
    const { leasehold, stateAdapter, read } = await openShop(["read"]);
    const from = Math.floor(Date.now() / 10_000) * 10_000;
    // Counts as a process reports them.
    const [known] = await shop.stateAdapter.history!.readBuckets({
      bucketMs: 10_000,
      from: 0,
      before: shop.now,
      limit: 1,
    });
    const buckets = Array.from({ length: 60 }, (_, n) => ({
      bucketMs: 10_000,
      from,
      queue: `q${n}`,
      typeName: "order",
      deployment: "",
      processId: "r",
      counts: known!.counts,
    }));
    const reporter = { id: "r", deployment: null, startedAt: 0, info: "" };
    await stateAdapter.history!.writeReport({ reporter, buckets, causes: [], maxAgeMs: 1e12 });
    const { body } = await read("time-to-start");
    expect(body.queues.length).toBe(50);
    expect(body.left).toBe(10);
    await leasehold.close();
  });
});
