import { createInProcessStateAdapter } from "leasehold";
import type { AnyStateAdapter, RunChecksCall, CheckResult } from "leasehold/adapter";
import { expect, it } from "vitest";
import { openShop } from "../testing/open-shop.ts";
import { createDoctor } from "./doctor.ts";

const broken: CheckResult = {
  check: "indexes",
  status: "problem",
  summary: "Missing: a.",
  advice: "Create it.",
};

/** A store whose check lasts until the test ends it. */
const openExamined = () => {
  const stateAdapter = createInProcessStateAdapter();
  const depths: string[] = [];
  let answer = (): void => undefined;
  const examined: AnyStateAdapter = {
    ...stateAdapter,
    diagnostics: {
      ...stateAdapter.diagnostics!,
      runChecks: async ({ depth }: RunChecksCall) => {
        depths.push(depth);
        await new Promise<void>((resolve) => (answer = resolve));
        return [broken];
      },
    },
  };
  /** Ends the examination under way, as soon as there is one. */
  const finish = async (count: number): Promise<void> => {
    await expect.poll(() => depths.length).toBe(count);
    answer();
  };
  return { examined, depths, finish };
};

it("checks once for concurrent requests, and reuses the result for a while", async () => {
  const { examined, depths, finish } = openExamined();
  let time = 1_000;
  const doctor = createDoctor({
    stateAdapter: examined,
    workerless: new Set(),
    now: async () => time,
    maxAgeMs: 100,
  });
  const asked = [doctor.latest(), doctor.latest()];
  await finish(1);
  const [first, second] = await Promise.all(asked);
  expect(first).toBe(second);
  expect(first).toMatchObject({
    depth: "light",
    checkedAt: 1_000,
    results: expect.arrayContaining([broken]),
  });
  time = 1_099;
  expect(await doctor.latest()).toBe(first);
  time = 1_100;
  const next = doctor.latest();
  await finish(2);
  expect(await next).not.toBe(first);
  expect(depths).toEqual(["light", "light"]);
});

it("looks thoroughly for a person, after a quick look that is under way, and never twice at once", async () => {
  const { examined, depths, finish } = openExamined();
  const doctor = createDoctor({ stateAdapter: examined, workerless: new Set(), now: async () => 0 });
  const quick = doctor.latest();
  const thorough = [doctor.check(), doctor.check()];
  await finish(1);
  expect((await quick).depth).toBe("light");
  await finish(2);
  const [first, second] = await Promise.all(thorough);
  expect(first).toBe(second);
  expect(depths).toEqual(["light", "usual"]);
  expect(await doctor.latest()).toBe(first);
});

it("answers with results, and without what a driver says", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const failing: AnyStateAdapter = {
    ...stateAdapter,
    diagnostics: {
      ...stateAdapter.diagnostics!,
      runChecks: () => Promise.reject(new Error("no route to postgres://10.0.0.1")),
    },
  };
  const { read, dashboard, leasehold } = await openShop(["read"], {}, failing);
  const { id } = await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
  await leasehold.jobs.cancel({ ids: [id] });
  for (const [answer, isThorough] of [
    [await read("doctor"), false],
    [await read("doctor/again"), true],
    [await read("doctor"), true],
  ] as const) {
    expect(answer).toMatchObject({ status: 200, body: { isThorough } });
    expect(JSON.stringify(answer.body)).not.toContain("10.0.0.1");
    expect(answer.body.results).toContainEqual({
      check: "database",
      status: "warning",
      summary: "This could not be checked.",
      advice: expect.any(String),
    });
    expect(answer.body.results).toContainEqual(
      expect.objectContaining({ check: "failures", summary: "1 job failed in the last hour; 1 in all." }),
    );
  }
  await dashboard.close();
});
