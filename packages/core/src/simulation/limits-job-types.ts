import { defineJobTypes, type JobTypes, typeOnly } from "../job-types/define.ts";
import type { Leasehold } from "../leasehold-api.ts";
import type { NewJob } from "../store/contract/creation.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import type { Script } from "./mixed-job-types.ts";

interface GroupedScript extends Script {
  readonly group: string | null;
}

interface GroupedType {
  input: GroupedScript;
  output: string;
}

export interface LimitsDefinitions {
  free: GroupedType;
  grouped: GroupedType;
  sorted: GroupedType;
  strict: GroupedType;
}

export type LimitsLeasehold = Leasehold<LimitsDefinitions, AnyStateAdapter>;

/** The queue that has rules. */
export const ruledQueue = "ruled";

const scripted = { input: typeOnly<GroupedScript>(), output: typeOnly<string>() };

/** Jobs without a group, in groups, in ordered groups, and in ordered groups that stop. */
export const limitsJobTypes: JobTypes<LimitsDefinitions> = defineJobTypes({
  free: scripted,
  grouped: { ...scripted, queue: ruledQueue },
  sorted: { ...scripted, queue: ruledQueue },
  strict: { ...scripted, queue: ruledQueue },
}) as JobTypes<unknown> as JobTypes<LimitsDefinitions>;

const orderedAs = { sorted: "continue", strict: "stop" } as const;

/** Gives each new job the group that its input names. */
export const withGroups = (adapter: AnyStateAdapter): AnyStateAdapter =>
  wrapAdapter(adapter, (method, original) => {
    if (method !== "createJobs") return original;
    return (call) => {
      const { jobs, ...rest } = call as { readonly jobs: readonly NewJob[] };
      const grouped = jobs.map((job): NewJob => {
        const { group } = JSON.parse(job.input) as GroupedScript;
        const ordered = orderedAs[job.typeName as keyof typeof orderedAs] ?? null;
        return { ...job, group, ordered: group === null ? null : ordered };
      });
      return original({ ...rest, jobs: grouped });
    };
  });
