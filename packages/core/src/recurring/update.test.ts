import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJobTypes, defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";

const jobTypes = defineJobTypes({
  report: {
    input: z.object({ country: z.string() }),
    output: z.string(),
    ordered: true,
    leaseMs: 90_000,
  },
});

const open = async () => {
  const clock = { at: Date.parse("2030-01-01T00:00:00Z") };
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => clock.at } });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  await leasehold.recurring.put({
    id: "nightly",
    cron: "30 2 * * *",
    timeZone: "Europe/Berlin",
    overlap: "allow",
    job: { typeName: "report", input: { country: "DE" }, group: "de", priority: 5 },
  });
  // A tool on the same store that does not have the job types.
  const tool = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<Record<string, { input: unknown; output: unknown }>>(),
  });
  return { clock, leasehold, tool, stateAdapter };
};

describe("updating a recurring job", () => {
  it("changes what is named and leaves the rest, also what only its program knows", async () => {
    const { leasehold, tool, stateAdapter } = await open();
    const before = (await leasehold.recurring.get({ id: "nightly" }))!;
    const updated = await tool.recurring.update({ id: "nightly", cron: "0 6 * * *", expectedVersion: 1 });
    const { version, cron, nextAt, ...rest } = updated;
    expect({ version, cron, nextAt }).toEqual({
      version: 2,
      cron: "0 6 * * *",
      nextAt: new Date("2030-01-01T05:00:00Z"),
    });
    expect(before).toMatchObject(rest);
    const { sequenceId } = await tool.recurring.trigger({ id: "nightly" });
    const [started] = await stateAdapter.getJobs({ jobIds: [sequenceId!] });
    expect(started).toMatchObject({ ordered: "continue", leaseMs: 90_000 });
    expect(await leasehold.jobs.get({ id: sequenceId! })).toMatchObject({ group: "de", priority: 5 });
  });

  it("replaces a cron expression by an interval, and back", async () => {
    const { tool } = await open();
    expect(await tool.recurring.update({ id: "nightly", everyMs: 3_600_000 })).toMatchObject({
      cron: null,
      timeZone: null,
      everyMs: 3_600_000,
    });
    expect(await tool.recurring.update({ id: "nightly", cron: "@daily" })).toMatchObject({
      cron: "@daily",
      timeZone: "UTC",
      everyMs: null,
    });
    await expect(tool.recurring.update({ id: "nightly" })).rejects.toMatchObject({ code: "InvalidOption" });
    await expect(tool.recurring.update({ id: "weekly", jitterMs: 1 })).rejects.toMatchObject({
      code: "RecurringJobNotFound",
    });
  });

  it("checks a new input by its type, and keeps the time that is due", async () => {
    const { leasehold, tool, clock } = await open();
    await expect(leasehold.recurring.update({ id: "nightly", input: { country: 7 } })).rejects.toMatchObject({
      code: "SchemaValidation",
    });
    const { nextAt } = (await leasehold.recurring.get({ id: "nightly" }))!;
    clock.at = nextAt!.getTime() + 1;
    const updated = await tool.recurring.update({ id: "nightly", input: { country: "FR" } });
    expect(updated).toMatchObject({ nextAt, job: { input: { country: "FR" } } });
  });

  it("does not overwrite what another user has changed meanwhile", async () => {
    const { leasehold } = await open();
    await leasehold.recurring.update({ id: "nightly", jitterMs: 5, expectedVersion: 1 });
    const late = leasehold.recurring.update({ id: "nightly", jitterMs: 6, expectedVersion: 1 });
    await expect(late).rejects.toMatchObject({ code: "VersionMismatch" });
    expect((await leasehold.recurring.get({ id: "nightly" }))?.jitterMs).toBe(5);
  });
});
