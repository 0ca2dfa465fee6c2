import { describe, expect, it } from "vitest";
import { jsonCodec } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { DefineContinuationInput, DefineContinuationOutput } from "../job-types/markers.ts";
import { JobNotFoundError } from "../store/errors.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{
  first: { input: null; output: DefineContinuationOutput<"second"> };
  second: { input: DefineContinuationInput<null>; output: null };
}>();

describe("queries", () => {
  it("take a job or a sequence where they ask for an id", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    const started = await leasehold.startJobSequence({ typeName: "first" });
    const sequence = await leasehold.jobs.getSequence(started);
    const job = await leasehold.jobs.get(started);
    expect(sequence?.id).toBe(started.id);
    expect(job?.id).toBe(started.id);
    expect((await leasehold.jobs.listInSequence(sequence!)).jobs).toHaveLength(1);
    expect((await leasehold.jobs.explain(job!)).state).toBe("runnable");
    expect(await leasehold.jobs.listBlockers(job!)).toEqual([]);
    expect((await leasehold.jobs.listBlocked(started)).jobs).toEqual([]);
  });

  it("list the jobs of a sequence in its order, whatever ids callers chose", async () => {
    const { leasehold, drain } = await createTestKit({ jobTypes });
    const { id } = await leasehold.startJobSequence({ typeName: "first", id: "b" });
    const worker = leasehold
      .createWorker()
      .implementJobType({
        typeName: "first",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: "second", id: "a" })),
      })
      .implementJobType({ typeName: "second", process: async () => null });
    await drain(worker);
    const { jobs } = await leasehold.jobs.listInSequence({ id });
    expect(jobs.map((job) => job.id)).toEqual(["b", "a"]);
  });

  it("go on after a job, in either order", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    const sequences = ["a", "b", "c", "d"].map((id) => ({ typeName: "first" as const, id }));
    for (const sequence of sequences) await leasehold.startJobSequence(sequence);
    const idsAfter = async (after: string, order: "newest" | "oldest"): Promise<string[]> =>
      (await leasehold.jobs.list({ after, order, limit: 2 })).jobs.map(({ id }) => id);
    expect(await idsAfter("d", "newest")).toEqual(["c", "b"]);
    expect(await idsAfter("b", "oldest")).toEqual(["c", "d"]);
    expect(await idsAfter("a", "newest")).toEqual([]);
    await expect(leasehold.jobs.list({ after: "e" })).rejects.toBeInstanceOf(JobNotFoundError);
    const { cursor } = await leasehold.jobs.list({ limit: 1 });
    await expect(leasehold.jobs.list({ after: "a", cursor })).rejects.toBeInstanceOf(InvalidOptionError);
  });

  it("refuse to search inputs for what cannot be found", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    const { leasehold: foreign } = await createTestKit({
      jobTypes,
      codec: { ...jsonCodec, name: "own" },
    });
    const list = (input: unknown, one: Pick<typeof leasehold, "jobs"> = leasehold): Promise<unknown> =>
      one.jobs.list({ input: input as never });
    for (const input of [
      "42",
      { path: "id", equals: 1 },
      { path: [1.5], equals: 1 },
      { path: ["id"], equals: {} },
      { path: ["id"], equals: Number.NaN },
      { path: ["id"] },
      { path: ["id"], equal: 1 },
      { contains: "" },
      { contains: 42 },
      { contains: "x".repeat(1_001) },
      { contains: "x", path: ["id"], equals: 1 },
    ]) {
      await expect(list(input), JSON.stringify(input)).rejects.toBeInstanceOf(InvalidOptionError);
    }
    await expect(list({ path: ["id"], equals: 1 }, foreign)).rejects.toThrow(/codec is JSON/);
  });

  it("find text in inputs of any codec, a bounded number of jobs at a time", async () => {
    const decoded: string[] = [];
    const { leasehold } = await createTestKit({
      jobTypes: defineUnionJobTypes<{ mail: { input: { to: string; n: number }; output: null } }>(),
      codec: {
        name: "base64",
        encode: (value) => {
          const { to, n } = (value ?? { to: "", n: 0 }) as { to: string; n: number };
          return Buffer.from(JSON.stringify([to, n])).toString("base64");
        },
        decode: (text) => {
          const [to, n] = JSON.parse(Buffer.from(text, "base64").toString()) as [string, number];
          decoded.push(to);
          return { to, n };
        },
      },
    });
    const sequences = Array.from({ length: 1_200 }, (_, n) => ({
      typeName: "mail" as const,
      input: { to: n % 400 === 0 ? `needle ${n}` : "hay", n },
    }));
    for (const start of [0, 400, 800])
      await leasehold.startJobSequences({ sequences: sequences.slice(start, start + 400) });
    const search = (contains: string, limit: number, cursor: string | null = null) =>
      leasehold.jobs.list({ input: { contains }, order: "oldest", limit, cursor });
    const first = await search("needle", 2);
    expect(first.jobs.map(({ input }) => input.to)).toEqual(["needle 0", "needle 400"]);
    const second = await search("needle", 2, first.cursor);
    expect(second.jobs.map(({ input }) => input.to)).toEqual(["needle 800"]);
    expect([second.cursor, second.searchedTo]).toEqual([null, null]);
    expect((await search("1199", 5)).jobs).toMatchObject([{ input: { n: 1_199 } }]);
    await expect(search("to", 1)).resolves.toMatchObject({ jobs: [{}] });
    expect(decoded.length).toBeLessThan(6_000);
  });
});
