import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes, type JobTypes } from "../../job-types/define.ts";

/** One job type for each way a job can go. */
export interface StoryTypes {
  greet: { input: { name: string }; output: string };
  flaky: { input: null; output: string };
  slow: { input: null; output: string };
  progress: { input: null; output: string };
  staged: { input: null; output: string };
  atomic: { input: null; output: string };
  order: { input: { n: number }; output: DefineContinuationOutput<"ship"> };
  ship: { input: DefineContinuationInput<{ n: number }>; output: string };
  part: { input: { n: number }; output: number };
  assemble: { input: null; output: number; blockers: [DefineBlocker<"part">, DefineBlocker<"part">] };
  doomed: { input: null; output: string };
  hopeful: { input: null; output: string; blockers: [DefineBlocker<"doomed">] };
  approval: { input: null; output: DefineContinuationOutput<"ship"> };
  later: { input: null; output: string };
}

export const storyTypes: JobTypes<StoryTypes> = defineUnionJobTypes<StoryTypes>();
