import { expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { findByShortId, isShortId, shortId } from "./short-id.ts";

const open = () =>
  createLeasehold({
    stateAdapter: createInProcessStateAdapter(),
    jobTypes: defineUnionJobTypes<{ work: { input: null; output: null } }>(),
  });

it("finds a job among many that were started in the same second", async () => {
  const leasehold = await open();
  const sequences = Array.from({ length: 5_000 }, () => ({ typeName: "work", input: null }) as const);
  const started = [];
  // More than a search by time would read.
  for (let batch = 0; batch < 5; batch += 1)
    started.push(...(await leasehold.startJobSequences({ sequences })));
  for (const { id } of [started[0]!, started[12_345]!, started.at(-1)!]) {
    expect(isShortId(shortId(id))).toBe(true);
    expect((await findByShortId(leasehold, shortId(id))).map((job) => job.id)).toEqual([id]);
    expect((await findByShortId(leasehold, shortId(id).replace("…", "..."))).map((job) => job.id)).toEqual([
      id,
    ]);
  }
});

it("finds both jobs that a short form fits, and none for other texts", async () => {
  const leasehold = await open();
  const ids = ["a-long-beginning-1-end-of-it", "a-long-beginning-2-end-of-it"];
  for (const id of ids) await leasehold.startJobSequence({ typeName: "work", input: null, id });
  expect(shortId(ids[0]!)).toBe(shortId(ids[1]!));
  expect(await findByShortId(leasehold, shortId(ids[0]!))).toHaveLength(2);
  expect(await findByShortId(leasehold, "00000000-0000…000000")).toEqual([]);
  expect(await findByShortId(leasehold, ids[0]!)).toEqual([]);
  expect(shortId("order-17")).toBe("order-17");
});
