import { createInProcessStateAdapter } from "leasehold";
import { createManualClock } from "leasehold/testing";
import { expect, it } from "vitest";
import { openShop } from "../testing/open-shop.ts";

const minute = 60_000;

it("says of queues, pauses and lost workers what doctor says of them", async () => {
  const clock = createManualClock({ startAt: Date.now() });
  const stateAdapter = createInProcessStateAdapter({ clock });
  const { read, leasehold, dashboard } = await openShop(["read"], { workerless: ["order"] }, stateAdapter);
  const look = async (check: string) => {
    const { body: summary } = await read("summary");
    const { body: examination } = await read("doctor/again");
    const findings: { check: string; status: string }[] = examination.results;
    return {
      level: summary.level as string,
      texts: summary.sentences.map(({ text }: { text: string }) => text) as string[],
      since: summary.sentences[0].since as string | null,
      doctor: findings.find((finding) => finding.check === check)?.status,
    };
  };

  await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
  await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  await clock.advanceBy(59_000);
  expect(await look("queues")).toMatchObject({ level: "calm", doctor: "ok" });
  await clock.advanceBy(2 * minute);
  expect(await look("queues")).toMatchObject({
    level: "trouble",
    texts: ["No worker takes mail in queue default: the oldest job has waited 2m."],
    doctor: "problem",
  });

  const info = { workers: [{ queues: [{ name: "default" }], typeNames: ["mail"] }] };
  await stateAdapter.history!.writeReport({
    reporter: { id: "other", deployment: null, startedAt: 0, info: JSON.stringify(info) },
    buckets: [],
    causes: [],
    maxAgeMs: minute,
  });
  const behind = await look("queues");
  expect(behind).toMatchObject({ level: "attention", doctor: "warning" });
  expect(behind.texts).toEqual(["Queue default is behind by 2m: 1 job could run now."]);
  // It was late when it had waited for a minute.
  expect(clock.now() - Date.parse(behind.since!)).toBe(119_000);

  await leasehold.limits.pause({ queue: "default" });
  expect(await look("queues")).toMatchObject({ texts: ["Queue default is paused."], doctor: "ok" });
  expect((await look("limits")).doctor).toBe("warning");
  await leasehold.limits.resume({ queue: "default" });

  await stateAdapter.claimJobs({
    workerId: "gone",
    leaseToken: "token",
    leaseMs: 1_000,
    requests: [{ queue: "default", typeNames: ["mail"], limit: 1 }],
    limit: 1,
  });
  await clock.advanceBy(30_000);
  expect(await look("leases")).toMatchObject({ level: "calm", doctor: "ok" });
  await clock.advanceBy(minute);
  expect(await look("leases")).toMatchObject({
    level: "trouble",
    texts: ["The workers of 1 running job have gone silent."],
    doctor: "problem",
  });
  await dashboard.close();
});
