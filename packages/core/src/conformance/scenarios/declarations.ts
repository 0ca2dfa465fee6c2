import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import { ProcessMisuseError } from "../../store/errors.ts";
import { defineJobTypes, typeOnly } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineJobTypes({
  flour: { output: typeOnly<string>() },
  eggs: { output: typeOnly<number>() },
  cake: { blockers: ["flour", "eggs"] },
  mix: { continuesTo: ["bake"] },
  bake: { internal: true, blockers: ["eggs"] },
  clean: {},
});

/** As JavaScript would call it. */
type Untyped = Record<string, (options: object) => Promise<unknown>>;

interface Reference {
  readonly id: string;
}

export const describeDeclarations: Scenario = ({ test }) => {
  const refusals: Record<
    string,
    [option: string, choose: (flour: Reference, eggs: Reference) => Reference[]]
  > = {
    "too few blockers": ["startBlockers", (flour) => [flour]],
    "too many blockers": ["startBlockers", (flour, eggs) => [flour, eggs, eggs]],
    "no blockers at all": ["startBlockers", () => []],
    "blockers in the wrong order": ["startBlockers[0]", (flour, eggs) => [eggs, flour]],
    "a blocker of the wrong type": ["startBlockers[1]", (flour) => [flour, flour]],
  };
  for (const [what, [option, choose]] of Object.entries(refusals)) {
    for (const origin of ["started there", "found"] as const) {
      test(`${what}, ${origin}, are refused, and nothing is written`, jobTypes, async (story) => {
        const { leasehold, queue } = story;
        const start = (): Promise<[Reference, Reference]> =>
          Promise.all([
            leasehold.startJobSequence({ typeName: "flour" }),
            leasehold.startJobSequence({ typeName: "eggs" }),
          ]);
        const found = origin === "found" ? await start() : undefined;
        const before = await leasehold.jobs.count({ queue });
        const startBlockers = async (): Promise<Reference[]> =>
          // Only the id: what a reference says of its type proves nothing.
          choose(...(found ?? (await start()))).map(({ id }) => ({ id }));
        const untyped = leasehold as unknown as Untyped;

        for (const call of [
          () => untyped["startJobSequence"]!({ typeName: "cake", startBlockers }),
          () => untyped["startJobSequences"]!({ sequences: [{ typeName: "cake", startBlockers }] }),
        ]) {
          await assert.rejects(
            call,
            (error) => error instanceof InvalidOptionError && error.option === option,
          );
        }
        assert.deepEqual(await leasehold.jobs.count({ queue }), before);
      });
    }
  }

  test("startBlockers for a type without blockers is refused", jobTypes, async ({ leasehold, queue }) => {
    let called = false;
    const startBlockers = (): [] => {
      called = true;
      return [];
    };
    const untyped = leasehold as unknown as Untyped;
    await assert.rejects(
      untyped["startJobSequence"]!({ typeName: "clean", startBlockers }),
      (error) => error instanceof InvalidOptionError && error.option === "startBlockers",
    );
    await assert.rejects(
      untyped["startJobSequences"]!({
        sequences: [{ typeName: "flour" }, { typeName: "clean", startBlockers }],
      }),
      (error) => error instanceof InvalidOptionError && error.option === "sequences[1].startBlockers",
    );
    assert.equal(called, false);
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test("declared blockers are held to in continuations, too", jobTypes, async ({ leasehold }) => {
    const mixing = await leasehold.startJobSequence({ typeName: "mix" });
    const completeWith = (wrong: boolean): Promise<unknown> =>
      leasehold.completeJobSequence({
        ...mixing,
        complete: async ({ job, complete }) => {
          if (job.typeName !== "mix") return;
          await complete(job, ({ continueWith }) =>
            continueWith({
              typeName: "bake",
              startBlockers: async () => {
                const typeName = (wrong ? "flour" : "eggs") as "eggs";
                return [await leasehold.startJobSequence({ typeName })];
              },
            }),
          );
        },
      });
    await assert.rejects(completeWith(true), /must be a sequence of type "eggs"/);
    assert.equal((await leasehold.jobs.getSequence(mixing))?.currentTypeName, "mix");
    await completeWith(false);
    assert.equal((await leasehold.jobs.getSequence(mixing))?.currentTypeName, "bake");
  });

  test(
    "an output of a type that declares none fails the attempt, or the call",
    jobTypes,
    async ({ leasehold, work, failure, completion }) => {
      const worker = leasehold.createWorker() as unknown as {
        implementJobType(options: object): typeof worker;
      };
      let output: unknown = "spotless";
      worker
        .implementJobType({ typeName: "clean", process: async () => output })
        // It may only continue.
        .implementJobType({ typeName: "mix", process: async () => output });
      await work(worker as unknown as ReturnType<typeof leasehold.createWorker>);

      for (const typeName of ["clean", "mix"] as const) {
        const started = await leasehold.startJobSequence({ typeName, maxAttempts: 1 });
        const { cause } = await failure(started);
        assert.ok(cause instanceof Error && cause.name === "ProcessMisuseError", String(cause));
        assert.match(cause.message, new RegExp(`Job type "${typeName}" has no output`));
      }
      for (const nothing of [undefined, null]) {
        output = nothing;
        const started = await leasehold.startJobSequence({ typeName: "clean" });
        assert.equal((await completion(started)).output, null);
      }
    },
  );

  test("workerless completion refuses such an output", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({
      typeName: "clean",
      schedule: { afterMs: 3_600_000 },
    });
    const complete = (output: null): Promise<unknown> =>
      leasehold.completeJobSequence({
        ...started,
        complete: ({ job, complete: end }) => end(job, () => output),
      });
    await assert.rejects(complete("spotless" as unknown as null), ProcessMisuseError);
    assert.equal((await leasehold.jobs.getSequence(started))?.status, "pending");
    await complete(null);
  });
};
