import {
  createLeasehold,
  type DefineBlocker,
  type DefineContinuationOutput,
  defineUnionJobTypes,
} from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { afterAll, describe, expect, it } from "vitest";
import type { Tree } from "../answers/jobs.ts";
import { createDashboard } from "../create-dashboard.ts";
import { clientOf } from "../testing/open-shop.ts";
import { inProcess, postgres, sqlite } from "../testing/stores.ts";

interface TreeTypes {
  order: { input: null; output: null; blockers: [DefineBlocker<"stock">] };
  stock: { input: null; output: DefineContinuationOutput<"charge"> };
  charge: { input: null; output: null };
  import: { input: null; output: null };
  row: { input: { n: number }; output: null };
}

describe.each([inProcess(), sqlite(), postgres()])("trees over $name", (store) => {
  afterAll(() => store.end());

  const open = async (stateAdapter: AnyStateAdapter) => {
    const jobTypes = defineUnionJobTypes<TreeTypes>();
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    const dashboard = createDashboard({
      leasehold,
      stateAdapter,
      authorize: () => ({ user: "grace", can: ["read"] }),
    });
    const readTree = async (id: string): Promise<Tree> => {
      const { status, body } = await clientOf(dashboard, "").read(`trees/${id}`);
      expect(status).toBe(200);
      return body;
    };
    return { leasehold, dashboard, readTree };
  };

  it("draws no circle where a blocker has continued", async () => {
    const { stateAdapter, close } = await store.open();
    const { leasehold, dashboard, readTree } = await open(stateAdapter);
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "stock",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: "charge", input: null })),
      })
      .implementJobType({ typeName: "charge", process: async () => null })
      .implementJobType({ typeName: "order", process: async () => null })
      .start({ pollIntervalMs: 10 });
    const { id } = await leasehold.startJobSequence({
      typeName: "order",
      input: null,
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "stock", input: null })],
    });
    await leasehold.waitForJobSequenceCompletion({ id, typeName: "order" });
    await worker.stop();
    const { nodes, edges, criticalPath, others } = await readTree(id);
    const nameOf = new Map(nodes.map((node) => [node.id, node.typeName]));
    expect(edges.map(({ from, to, kind }) => [nameOf.get(from), kind, nameOf.get(to)])).toEqual([
      ["stock", "continues", "charge"],
      ["charge", "blocks", "order"],
    ]);
    expect(criticalPath.map((node) => nameOf.get(node))).toEqual(["stock", "charge", "order"]);
    expect(others).toEqual([]);
    await dashboard.close();
    await leasehold.close();
    await close();
  });

  it("counts the jobs of a large tree, and follows its last job", async () => {
    const { stateAdapter, close } = await store.open();
    const { leasehold, dashboard, readTree } = await open(stateAdapter);
    const rows = 1_200;
    // One row after the first 500 ends last; three fail.
    const lastRow = 700;
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "import",
        process: async () => {
          await leasehold.startJobSequences({
            sequences: Array.from({ length: rows }, (_, n) => ({
              typeName: "row",
              input: { n },
              maxAttempts: 1,
              priority: n === lastRow ? -1 : 0,
            })),
          });
          return null;
        },
      })
      .implementJobType({
        typeName: "row",
        process: async ({ job }) => {
          if (job.input.n % 400 === 399) throw new Error("broken row");
          return null;
        },
      })
      .start({ concurrency: 100, pollIntervalMs: 10 });
    const { id } = await leasehold.startJobSequence({ typeName: "import", input: null });
    await expect
      .poll(
        async () =>
          (await leasehold.jobs.count({ rootSequenceId: id, status: ["completed", "failed"] })).reduce(
            (sum, { count }) => sum + count,
            0,
          ),
        { timeout: 15_000 },
      )
      .toBe(rows + 1);
    await worker.stop();
    const { jobs } = await leasehold.jobs.list({ rootSequenceId: id, typeName: "row", limit: 1_000 });
    const ends = jobs.map((job) => (job.status === "completed" ? job.completedAt.getTime() : 0));
    const tree = await readTree(id);
    const last = tree.nodes.find((node) => node.id === tree.criticalPath.at(-1))!;
    expect(Date.parse(last.endedAt!)).toBeGreaterThanOrEqual(Math.max(...ends));
    expect(tree.criticalPath[0]).toBe(id);
    const drawn = new Map<string, number>();
    for (const { typeName, status, count } of [
      ...tree.nodes.map((node) => ({ ...node, count: 1 })),
      ...tree.others,
    ]) {
      const key = `${typeName} ${status}`;
      drawn.set(key, (drawn.get(key) ?? 0) + count);
    }
    expect(Object.fromEntries(drawn)).toEqual({
      "import completed": 1,
      "row completed": rows - 3,
      "row failed": 3,
    });
    expect(tree.nodes.length).toBeLessThan(510);
    expect(tree.edges.every(({ from }) => from === id)).toBe(true);
    await dashboard.close();
    await leasehold.close();
    await close();
  });
});
