import { describe, expect, it } from "vitest";
import { createTestKit } from "../testing/test-kit.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "./define.ts";
import { mergeJobTypes } from "./merge.ts";

const photos = defineJobTypes({
  "resize-photo": { input: typeOnly<{ photo: string }>(), output: typeOnly<number>() },
  "publish-album": { output: typeOnly<number>(), blockers: { anyNumberOf: ["resize-photo"] } },
});

const mail = defineJobTypes({ "send-mail": { queue: "mail" } });

describe("mergeJobTypes", () => {
  it("has the types of all parts, with their settings and checks", async () => {
    const kit = await createTestKit({ jobTypes: mergeJobTypes(photos, mail) });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "send-mail" });
    expect(await kit.leasehold.jobs.get({ id })).toMatchObject({ queue: "mail" });
    await expect(kit.leasehold.startJobSequence({ typeName: "nothing" as never })).rejects.toMatchObject({
      code: "UnknownJobType",
    });
  });

  it("refuses a name that is defined twice, and what is no definition", () => {
    const again = defineUnionJobTypes<{ x: { input: null; output: null } }>({ ["send-mail" as never]: {} });
    expect(() => mergeJobTypes(photos, mail, again)).toThrow("jobTypes[2]");
    expect(() => mergeJobTypes(photos, {} as never)).toThrow("jobTypes[1]");
  });
});

describe("blockers: { anyNumberOf }", () => {
  const albumOf = async (count: number) => {
    const kit = await createTestKit({ jobTypes: mergeJobTypes(photos, mail) });
    const { leasehold } = kit;
    const worker = leasehold
      .createWorker()
      .implementJobType({ typeName: "resize-photo", process: async ({ job }) => job.input.photo.length })
      .implementJobType({
        typeName: "publish-album",
        process: async ({ job }) => job.blockers.reduce((sum, { output }) => sum + output, 0),
      });
    const sequences = Array.from({ length: count }, () => ({
      typeName: "resize-photo" as const,
      input: { photo: "abc" },
    }));
    const { id } = await leasehold.startJobSequence({
      typeName: "publish-album",
      startBlockers: async () => (count === 0 ? [] : leasehold.startJobSequences({ sequences })),
    });
    await kit.drain(worker);
    return leasehold.jobs.get({ id });
  };

  it.each([0, 1, 5])("waits for %i sequences", async (count) => {
    expect(await albumOf(count)).toMatchObject({ status: "completed", output: 3 * count });
  });

  it("refuses sequences of other types, before anything is written", async () => {
    const { leasehold } = await createTestKit({ jobTypes: mergeJobTypes(photos, mail) });
    const other = await leasehold.startJobSequence({ typeName: "send-mail" });
    const start = leasehold.startJobSequence({
      typeName: "publish-album",
      startBlockers: () => [other as never],
    });
    await expect(start).rejects.toThrow("startBlockers[0]");
    expect(await leasehold.jobs.count()).toMatchObject([{ typeName: "send-mail", count: 1 }]);
  });

  it.each([
    [{ anyNumberOf: [] }, 'jobTypes["a"].blockers.anyNumberOf'],
    [{ anyNumberOf: "a" }, 'jobTypes["a"].blockers.anyNumberOf'],
    [{ anyNumberOf: ["b"] }, 'jobTypes["a"].blockers[0]'],
    [{ colour: 1 }, 'jobTypes["a"].blockers.colour'],
  ])("refuses %o", (blockers, option) => {
    expect(() => defineJobTypes({ a: { blockers: blockers as never } })).toThrow(option);
  });
});
