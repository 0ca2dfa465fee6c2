import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { DefineBlocker } from "../job-types/markers.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{
  mail: { input: null; output: null };
  report: { input: null; output: null; blockers: [DefineBlocker<"mail">] };
}>();

/** A completed, a failed, a pending and a blocked job. */
const createJobs = async () => {
  const kit = await createTestKit({ jobTypes });
  const { leasehold } = kit;
  const start = async () => (await leasehold.startJobSequence({ typeName: "mail" })).id;
  const completed = await start();
  const worker = leasehold
    .createWorker()
    .implementJobType({ typeName: "mail", process: async () => null })
    .implementJobType({ typeName: "report", process: async () => null });
  await kit.drain(worker);
  const failed = await start();
  await leasehold.jobs.cancel({ ids: [failed] });
  const pending = await leasehold.startJobSequence({ typeName: "mail" });
  const { id: blocked } = await leasehold.startJobSequence({
    typeName: "report",
    startBlockers: async () => [pending],
  });
  return { leasehold, completed, failed, pending: pending.id, blocked };
};

const idsOf = ({ changed }: { readonly changed: readonly { readonly id: string }[] }) =>
  changed.map(({ id }) => id).toSorted();

const dryRun = true;

describe("a status in the filter of a change", () => {
  it("leaves out jobs in other statuses that the change would take", async () => {
    const { leasehold, completed, failed, pending, blocked } = await createJobs();
    const { update, cancel } = leasehold.jobs;
    const now = { schedule: { afterMs: 0 }, dryRun } as const;
    expect(idsOf(await update({ filter: { status: "blocked" }, priority: 5, dryRun }))).toEqual([blocked]);
    expect(idsOf(await update({ filter: { status: "pending" }, ...now }))).toEqual([pending]);
    expect(idsOf(await update({ filter: { status: ["pending", "blocked"] }, ...now }))).toEqual(
      [pending, blocked].toSorted(),
    );
    expect(idsOf(await cancel({ filter: { status: "blocked" }, dryRun }))).toEqual([blocked]);
    expect(idsOf(await cancel({ filter: { status: "running" }, dryRun }))).toEqual([]);
    const remove = (status: "completed" | "failed") =>
      leasehold.deleteJobSequences({ filter: { status }, dryRun });
    expect(idsOf(await remove("completed"))).toEqual([completed]);
    expect(idsOf(await remove("failed"))).toEqual([failed]);
    expect(idsOf(await leasehold.jobs.redrive({ filter: { status: "failed" }, dryRun }))).toEqual([failed]);
  });

  it("is refused if the change does not apply to it", async () => {
    const { leasehold } = await createJobs();
    const { redrive, update, cancel } = leasehold.jobs;
    const refused = (operation: string) => ({
      code: "InvalidOption",
      option: "filter.status",
      message: expect.stringContaining(`must be a status that ${operation} changes`) as unknown,
    });
    // @ts-expect-error -- completed jobs cannot be redriven
    const redriven = redrive({ filter: { status: "completed" } });
    await expect(redriven).rejects.toMatchObject(refused("jobs.redrive"));
    // @ts-expect-error -- only waiting jobs can be updated
    const updated = update({ filter: { status: ["pending", "running"] }, priority: 1 });
    await expect(updated).rejects.toMatchObject(refused("jobs.update"));
    // @ts-expect-error -- finished jobs cannot be cancelled
    const cancelled = cancel({ filter: { status: "failed" } });
    await expect(cancelled).rejects.toMatchObject(refused("jobs.cancel"));
    // @ts-expect-error -- only finished jobs are deleted by a filter
    const deleted = leasehold.deleteJobSequences({ filter: { status: "pending" } });
    await expect(deleted).rejects.toMatchObject(refused("deleteJobSequences"));
    expect(
      await leasehold.jobs.count({ status: ["pending", "blocked", "completed", "failed"] }),
    ).toHaveLength(4);
  });
});
