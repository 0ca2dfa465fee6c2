import type { CompletedJob, CreatedJob } from "../../job-types/entities.ts";
import type {
  JobId,
  Runtime,
  TxContext,
  Union,
  UnionTypes,
} from "../../job-types/job-types-fixture.test-d.ts";
import type { JobOf } from "../../job-types/navigation.ts";
import type { Equal, Expect } from "../../job-types/type-equality.test-d.ts";

declare const union: Union;

declare const runtime: Runtime;

declare const ctx: TxContext;

const sequence = await union.completeJobSequence({
  ...ctx,
  id: "job-1",
  typeName: "fetch-page",
  complete: async ({ job, complete, client }) => {
    await client.query("select 1");
    const names: "fetch-page" | "index-page" | "drop-page" = job.typeName;
    const sequenceTypeName: "fetch-page" = job.sequenceTypeName;
    void [names, sequenceTypeName];

    // @ts-expect-error which output is right depends on the type of the job
    await complete(job, async () => ({ indexed: 3 }));

    if (job.typeName !== "fetch-page") return;

    const completed = await complete(job, async () => ({ skipped: true as const }));
    const next = await complete(job, async ({ continueWith }) =>
      continueWith({ typeName: "index-page", input: { words: [] } }),
    );
    const either = await complete(job, async ({ continueWith, tenant }) => {
      if (tenant === "acme") return { skipped: true as const };
      return continueWith({ typeName: "index-page", input: { words: [] } });
    });
    // The next job can be completed in turn.
    const last = await complete(next, () => ({ indexed: 3 }));
    // @ts-expect-error the output of another type
    await complete(next, () => ({ skipped: true }));
    // @ts-expect-error a job that is no part of such a sequence
    await complete({ id: "job-9", typeName: "report" }, () => "text");
    // @ts-expect-error not a continuation of this type
    await complete(job, async ({ continueWith }) => continueWith({ typeName: "cleanup" }));
    // @ts-expect-error the wrong output
    await complete(job, async () => ({ skipped: false }));

    type Page<TName extends "fetch-page" | "index-page"> = JobOf<JobId, UnionTypes, TName, "fetch-page">;
    type Tests = [
      Expect<Equal<typeof completed, CompletedJob<Page<"fetch-page">>>>,
      Expect<Equal<typeof next, CreatedJob<Page<"index-page">>>>,
      Expect<Equal<typeof either, CompletedJob<Page<"fetch-page">> | CreatedJob<Page<"index-page">>>>,
      Expect<Equal<typeof last, CompletedJob<Page<"index-page">>>>,
    ];
    void (0 as unknown as Tests);
  },
});

if (sequence.status === "completed") {
  const output: { skipped: true } | { indexed: number } = sequence.output;
  void output;
}

// A job whose type follows from the sequence's needs no narrowing, whatever its status.
await runtime.completeJobSequence({
  id: "job-1",
  typeName: "report",
  complete: async ({ job, complete }) => {
    if (job.status === "blocked") return;
    await complete(job, async () => job.input.title);
  },
});

await runtime.completeJobSequence({
  id: "job-1",
  typeName: "cleanup",
  complete: async ({ job, complete }) => complete(job, () => {}),
});

// @ts-expect-error no sequence starts with an internal type
await union.completeJobSequence({ id: "job-1", typeName: "index-page", complete: async () => {} });
// @ts-expect-error a part of the context is not a context
await union.completeJobSequence({
  tenant: "acme",
  id: "job-1",
  typeName: "cleanup",
  complete: async () => {},
});
