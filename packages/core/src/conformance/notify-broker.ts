import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { allNotificationKinds, kinds } from "../notify/contract.ts";
import { withFleet } from "./notify/broker-fleet.ts";
import type { BrokerFixture } from "./notify-broker-fixture.ts";
import { until } from "./patience.ts";
import type { ConformanceRunner } from "./runner.ts";

// Workers that would not look on their own while a test runs: what they do, a notification made them do.
const neverPollMs = 600_000;

/** Fifty connections to a broker take many seconds to open on a busy machine. */
const fleetTimeoutMs = 120_000;

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

/** What workers do over a broker that counts, while it is healthy, while it is gone, and when someone means harm. */
export const brokerConformance = (runner: ConformanceRunner, fixture: BrokerFixture): void => {
  const it = (name: string, test: () => Promise<void>): void => runner.it(name, test, fleetTimeoutMs);

  runner.describe("workers over a broker", () => {
    it("one of 50 idle workers asks the store when one job is started", () =>
      withFleet(fixture, { size: 50, pollIntervalMs: neverPollMs }, async (fleet) => {
        for (let jobs = 1; jobs <= 5; jobs += 1) {
          const before = fleet.claims();
          await fleet.runJobs(1);
          await fleet.settle();
          assert.equal(fleet.claims() - before, 1);
        }
        fleet.assertRanOnce(5);
      }));

    it("about as many as there are jobs ask when several are started", () =>
      withFleet(fixture, { size: 50, pollIntervalMs: neverPollMs }, async (fleet) => {
        const before = fleet.claims();
        await fleet.runJobs(8);
        await fleet.settle();
        const asked = fleet.claims() - before;
        assert.ok(asked > 0 && asked <= 8, `${asked} have asked`);
        fleet.assertRanOnce(8);
      }));

    it("a broker killed in the middle costs a poll, no job and no restart", () =>
      withFleet(fixture, { size: 5, pollIntervalMs: 100 }, async (fleet) => {
        await fleet.runJobs(20);
        const during = fleet.runJobs(200);
        await fixture.kill();
        await during;
        await fleet.runJobs(20);
        await fixture.startAgain();
        await fleet.runJobs(20);
        fleet.assertRanOnce(260);
      }));

    it("a job whose notification was lost is found when the connection is back, and notifications go on", () =>
      withFleet(fixture, { size: 3, pollIntervalMs: neverPollMs }, async (fleet) => {
        const lost = fleet.connections.lost();
        await fixture.kill();
        // A client may send again what was on its way when the connection broke.
        await lost;
        const unheard = fleet.runJobs(1);
        await until(() => fleet.notifyErrors.includes("notifyJobScheduled"), "the notification has failed");
        assert.equal(fleet.attempts.size, 0);
        await fixture.startAgain();
        await unheard;
        await until(
          () =>
            fleet.settle().then(
              () => true,
              () => false,
            ),
          "notifications go on",
        );
        await fleet.runJobs(1);
        fleet.assertRanOnce(2);
      }));

    it("without a broker for the whole run, work proceeds by polling", async () => {
      try {
        const options = { size: 5, pollIntervalMs: 50, beforeAdapters: fixture.kill };
        await withFleet(fixture, options, async (fleet) => {
          await fleet.runJobs(50);
          fleet.assertRanOnce(50);
        });
      } finally {
        await fixture.startAgain();
      }
    });

    it("forged and malformed messages change nothing", () =>
      withFleet(fixture, { size: 5, pollIntervalMs: 100 }, async (fleet) => {
        const { leasehold, connections } = fleet;
        const waiting = await leasehold.startJobSequence({
          typeName: "double",
          input: 21,
          schedule: { afterMs: 3_600_000 },
        });
        const giveUp = new AbortController();
        const hasEnded = leasehold.waitForJobSequenceCompletion({ ...waiting, signal: giveUp.signal }).then(
          () => true,
          () => false,
        );
        const working = fleet.runJobs(50);
        for (let round = 0; round < 20; round += 1) {
          for (const message of hostileMessages(waiting.id)) {
            for (const kind of allNotificationKinds) {
              await connections.publish(kinds[kind].channel, message);
            }
          }
        }
        await working;
        await fleet.settle();
        const job = await leasehold.jobs.get({ id: waiting.id });
        assert.deepEqual([job?.status, job?.attempt], ["pending", 0]);
        fleet.assertRanOnce(50);
        giveUp.abort();
        assert.equal(await hasEnded, false);
      }));
  });
};
