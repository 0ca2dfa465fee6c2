import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./define.ts";
import { type DefinitionsOf, mergeJobTypes } from "./merge.ts";
import type { Equal, Expect } from "./type-equality.test-d.ts";

const mail = defineJobTypes({
  "send-mail": { input: typeOnly<{ to: string }>(), continuesTo: ["archive-mail"] },
  "archive-mail": { input: typeOnly<{ id: number }>(), internal: true },
});

const photos = defineJobTypes({
  "resize-photo": { input: typeOnly<{ photo: string }>(), output: typeOnly<{ bytes: number }>() },
  "publish-album": { output: typeOnly<string>(), blockers: { anyNumberOf: ["resize-photo"] } },
});

const reports = defineUnionJobTypes<{ report: { input: null; output: string } }>();

const merged = mergeJobTypes(mail, photos, reports);

export type Tests = [
  Expect<
    Equal<
      keyof DefinitionsOf<typeof merged>,
      "send-mail" | "archive-mail" | "resize-photo" | "publish-album" | "report"
    >
  >,
  Expect<Equal<DefinitionsOf<typeof merged>["report"], { input: null; output: string }>>,
];

// @ts-expect-error -- "send-mail" is defined twice
mergeJobTypes(mail, photos, defineUnionJobTypes<{ "send-mail": { input: null; output: null } }>());

// --- a name for the definitions, which editors show instead of all of them -----------------------------------------

interface AppJobTypes extends DefinitionsOf<typeof merged> {}

const jobTypes: JobTypes<AppJobTypes> = merged;

const leasehold = await createLeasehold({ stateAdapter: createInProcessStateAdapter(), jobTypes });

// --- only types that can be started ---------------------------------------------------------------------------------

// @ts-expect-error -- internal
await leasehold.startJobSequence({ typeName: "archive-mail", input: { id: 1 } });

// --- any number of blockers -----------------------------------------------------------------------------------------

const resize = (photo: string) => leasehold.startJobSequence({ typeName: "resize-photo", input: { photo } });

await leasehold.startJobSequence({ typeName: "publish-album", startBlockers: async () => [] });

await leasehold.startJobSequence({
  typeName: "publish-album",
  startBlockers: async () => Promise.all(["a", "b"].map(resize)),
});

await leasehold.startJobSequence({
  typeName: "publish-album",
  // @ts-expect-error -- of another type
  startBlockers: async () => [await leasehold.startJobSequence({ typeName: "report" })],
});

leasehold.createWorker().implementJobType({
  typeName: "publish-album",
  process: async ({ job }) => {
    const bytes: number = job.blockers.reduce((sum, { output }) => sum + output.bytes, 0);
    return `${bytes} bytes`;
  },
});

defineJobTypes({
  // @ts-expect-error -- not defined
  album: { blockers: { anyNumberOf: ["photo"] } },
});
