import assert from "node:assert/strict";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  parent: { input: null; output: { childId: string } };
  child: { input: null; output: DefineContinuationOutput<"grandchild"> };
  grandchild: { input: DefineContinuationInput<null>; output: null };
  waiting: { input: null; output: null; blockers: [DefineBlocker<"nested">] };
  nested: { input: null; output: null; blockers: [DefineBlocker<"leaf">] };
  leaf: { input: null; output: null };
}>();

export const describeFamilyTrees: Scenario = ({ test }) => {
  test("a sequence started by a handler belongs to the tree of its job", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "parent",
          process: async () => {
            const { id } = await leasehold.startJobSequence({ typeName: "child" });
            return { childId: id };
          },
        })
        .implementJobType({
          typeName: "child",
          process: async ({ complete }) =>
            complete(({ continueWith }) => continueWith({ typeName: "grandchild" })),
        })
        .implementJobType({ typeName: "grandchild", process: async () => {} }),
    );

    const parent = await leasehold.startJobSequence({ typeName: "parent" });
    const { childId } = (await completion(parent)).output;
    const child = await completion({ id: childId, typeName: "child" });

    assert.deepEqual([parent.rootSequenceId, parent.originId], [parent.id, null]);
    assert.deepEqual([child.rootSequenceId, child.originId], [parent.id, parent.id]);
    const tree = await leasehold.jobs.list({ rootSequenceId: parent.id, order: "oldest" });
    assert.deepEqual(
      tree.jobs.map(({ typeName, originId }) => [typeName, originId]),
      [
        ["parent", null],
        ["child", parent.id],
        ["grandchild", childId],
      ],
    );
  });

  test(
    "so does one started in the callback of complete",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "parent",
          process: async ({ complete }) =>
            complete(async (ctx) => {
              const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "leaf" });
              return { childId: id };
            }),
        }),
      );

      const parent = await leasehold.startJobSequence({ typeName: "parent" });
      const { childId } = (await completion(parent)).output;

      const child = await leasehold.jobs.getSequence({ id: childId });
      assert.deepEqual([child?.rootSequenceId, child?.originId], [parent.id, parent.id]);
    },
  );

  test("a detached start has a tree of its own, and still says who started it", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "parent",
          process: async () => {
            const { id } = await leasehold.startJobSequence({
              typeName: "waiting",
              detached: true,
              startBlockers: async () => [
                await leasehold.startJobSequence({
                  typeName: "nested",
                  startBlockers: async () => [await leasehold.startJobSequence({ typeName: "leaf" })],
                }),
              ],
            });
            return { childId: id };
          },
        })
        .implementJobType({ typeName: "waiting", process: async () => {} })
        .implementJobType({ typeName: "nested", process: async () => {} })
        .implementJobType({ typeName: "leaf", process: async () => {} }),
    );

    const parent = await leasehold.startJobSequence({ typeName: "parent" });
    const { childId } = (await completion(parent)).output;
    const child = await completion({ id: childId, typeName: "waiting" });

    assert.deepEqual([child.rootSequenceId, child.originId], [childId, parent.id]);
    const [nested] = await leasehold.jobs.listBlockers({ id: childId });
    assert.deepEqual([nested?.rootSequenceId, nested?.originId], [childId, childId]);
    // The two can be deleted one without the other.
    for (const [id, jobs] of [
      [parent.id, 1],
      [childId, 3],
    ] as const)
      assert.deepEqual((await leasehold.deleteJobSequences({ rootSequenceIds: [id] })).changed, [
        { id, jobs },
      ]);
  });

  test(
    "detached starts in bulk have trees of their own",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "parent",
          process: async () => {
            const [joined, detached] = await leasehold.startJobSequences({
              sequences: [{ typeName: "leaf" }, { typeName: "leaf", detached: true }],
            });
            return { childId: `${joined?.rootSequenceId} ${detached?.rootSequenceId === detached?.id}` };
          },
        }),
      );
      const parent = await leasehold.startJobSequence({ typeName: "parent" });
      assert.equal((await completion(parent)).output.childId, `${parent.id} true`);
    },
  );

  test("blockers started with a job belong to its tree, at any depth", jobTypes, async ({ leasehold }) => {
    const root = await leasehold.startJobSequence({
      typeName: "waiting",
      startBlockers: async () => [
        await leasehold.startJobSequence({
          typeName: "nested",
          startBlockers: async () => [await leasehold.startJobSequence({ typeName: "leaf" })],
        }),
      ],
    });

    const [nested] = await leasehold.jobs.listBlockers({ id: root.id });
    const [leaf] = await leasehold.jobs.listBlockers({ id: nested?.id ?? "" });
    assert.deepEqual([root.rootSequenceId, root.originId], [root.id, null]);
    assert.deepEqual([nested?.rootSequenceId, nested?.originId], [root.id, root.id]);
    assert.deepEqual([leaf?.rootSequenceId, leaf?.originId], [root.id, nested?.id]);
  });

  test("what is started after the callback belongs to nobody", jobTypes, async ({ leasehold }) => {
    await leasehold.startJobSequence({
      typeName: "nested",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "leaf" })],
    });
    const leaf = await leasehold.startJobSequence({ typeName: "leaf" });
    assert.deepEqual([leaf.rootSequenceId, leaf.originId], [leaf.id, null]);
  });
};
