import {
  changeInput,
  fitsJobType,
  type InputChange,
  type JobStatus,
  replaceInput,
  SchemaValidationError,
} from "leasehold";
import { actionQueue } from "leasehold/adapter";
import type { ActionKind } from "../answers/jobs.ts";
import { badRequest } from "../http/errors.ts";
import type { AnyLeasehold } from "../http/leasehold.ts";
import type { Right } from "../http/rights.ts";
import { isTimeField, type JobFilterQuery } from "./job-filter.ts";

/** The jobs of an action. Jobs that match only after `before` are not changed. */
export interface Choice {
  readonly ids?: readonly string[] | undefined;
  readonly filter?: JobFilterQuery | undefined;
  /** Of the jobs of a filter, or of those to cancel, only the ones in these statuses. Default: all that the action can change. */
  readonly status?: readonly JobStatus[] | undefined;
  /** Also cancels what the jobs have started. */
  readonly withChildren?: boolean | undefined;
  /** For an action that changes inputs. */
  readonly changes?: readonly InputChange[] | undefined;
  readonly before: Date;
  /** For an action that reschedules. */
  readonly schedule?: Schedule | undefined;
}

/** When a job is to run: at a time, or some time after the action. */
export type Schedule = { readonly at: Date } | { readonly afterMs: number };

/** What happened to some of the jobs, or would in a dry run. */
export interface Portion {
  /** The changed jobs, each with the number of jobs that it revived. */
  readonly changed: readonly { readonly jobId: string; readonly revived: number }[];
  /** Jobs that wait for a cancelled one, and so fail with it. */
  readonly failedIds?: readonly string[];
  /** The trees of cancelled jobs. */
  readonly rootSequenceIds?: readonly string[];
  readonly skipped: readonly { readonly jobId: string; readonly reason: string }[];
  /** Where the next portion begins; null at the end. */
  readonly cursor: string | null;
}

export interface PortionCall {
  readonly choice: Choice;
  readonly limit: number;
  readonly cursor: string | null;
  readonly dryRun: boolean;
  /** The error message of cancelled jobs. */
  readonly reason: string;
  /** The Leasehold that was passed to `createDashboard`: it has the job types. */
  readonly original: object;
}

/** An action on many jobs: first a preview, then portions. */
export interface PlannedAction {
  readonly needs: Right;
  readonly alsoNeeds?: readonly Right[];
  /** What it counts. */
  readonly unit: "jobs" | "trees";
  /** It cannot be undone, so the user types in the number of jobs. */
  readonly isFinal: boolean;
  /** It needs a schedule. */
  readonly isTimed?: boolean;
  /** It needs the changes to inputs. */
  readonly changesInputs?: boolean;
  /** It can also change what jobs have started. */
  readonly takesChildren?: boolean;
  /** The command of the CLI that does the same. */
  readonly command: string;
  portion(leasehold: AnyLeasehold, call: PortionCall): Promise<Portion>;
  /** How many jobs match in all, as the store counts them; null where that is not the number of what changes. */
  countAll(leasehold: AnyLeasehold, choice: Choice): Promise<number | null>;
}

// The largest page of `jobs.list`.
const mostListed = 1_000;

const earlier = (a: Date | undefined, b: Date): Date => (a !== undefined && a < b ? a : b);

/** With ids, the cursor is the number of ids that are done. */
const sliceIds = (ids: readonly string[], { cursor, limit }: PortionCall) => {
  const from = Number(cursor ?? 0);
  const to = from + limit;
  return { ids: ids.slice(from, to), cursor: to < ids.length ? String(to) : null };
};

type Choosing = { ids: readonly string[] } | { filter: object; limit: number; cursor: string | null };

/** The same for `jobs.redrive` and `jobs.update`, which take ids or a filter themselves. */
const choose = (
  call: PortionCall,
  bound: "finishedBefore" | "createdBefore",
): Choosing & { next: string | null } => {
  const { ids, filter, status, before } = call.choice;
  if (ids !== undefined) {
    const slice = sliceIds(ids, call);
    return { ids: slice.ids, next: slice.cursor };
  }
  const bounded = { ...filter, ...(status && { status }), [bound]: earlier(filter?.[bound], before) };
  return { filter: bounded, limit: call.limit, cursor: call.cursor, next: null };
};

const toPortion = (
  skipped: readonly { readonly id: string; readonly reason: string }[],
): Portion["skipped"] => skipped.map(({ id, reason }) => ({ jobId: id, reason }));

const redrive: PlannedAction["portion"] = async (leasehold, call) => {
  const { next, ...chosen } = choose(call, "finishedBefore");
  const report = await leasehold.jobs.redrive({ ...chosen, dryRun: call.dryRun });
  return {
    changed: report.changed.map(({ id, revivedIds }) => ({ jobId: id, revived: revivedIds.length })),
    skipped: toPortion(report.skipped),
    cursor: "ids" in chosen ? next : report.cursor,
  };
};

const reschedule: PlannedAction["portion"] = async (leasehold, call) => {
  const { next, ...chosen } = choose(call, "createdBefore");
  const { schedule = { afterMs: 0 } } = call.choice;
  const report = await leasehold.jobs.update({ ...chosen, schedule, dryRun: call.dryRun });
  return {
    changed: report.changed.map(({ id }) => ({ jobId: id, revived: 0 })),
    skipped: toPortion(report.skipped),
    cursor: "ids" in chosen ? next : report.cursor,
  };
};

type ListedJob = Awaited<ReturnType<AnyLeasehold["jobs"]["list"]>>["jobs"][number];

/** The log of actions cannot be deleted here, and an action is stopped on its own page. */
const isNoAction = ({ queue }: ListedJob): boolean => queue !== actionQueue;

interface Found {
  readonly jobs: readonly ListedJob[];
  readonly skipped: Portion["skipped"];
  readonly cursor: string | null;
}

/** The jobs of a portion in these statuses, for actions that take no filter themselves. */
const find = async (
  leasehold: AnyLeasehold,
  call: PortionCall,
  changeable: readonly JobStatus[],
  bound: "finishedBefore" | "createdBefore" = "createdBefore",
): Promise<Found> => {
  const { ids, filter, before, status: wanted = changeable } = call.choice;
  const status = changeable.filter((one) => wanted.includes(one));
  if (status.length === 0)
    throw badRequest(
      `This changes no jobs that are ${wanted.join(" or ")}.`,
      `It changes jobs that are ${changeable.join(", ")}.`,
    );
  if (ids === undefined) {
    const bounded = { ...filter, status, [bound]: earlier(filter?.[bound], before) };
    const limit = Math.min(call.limit, mostListed);
    const { jobs, cursor } = await leasehold.jobs.list({
      ...bounded,
      limit,
      cursor: call.cursor,
      order: "oldest",
    });
    return { jobs: jobs.filter(isNoAction), skipped: [], cursor };
  }
  const slice = sliceIds(ids, call);
  const { jobs: listed } = await leasehold.jobs.list({ id: slice.ids, limit: mostListed });
  const jobs = listed.filter(isNoAction);
  const statusOf = new Map(jobs.map((job) => [job.id, job.status]));
  return {
    jobs: jobs.filter((job) => status.includes(job.status)),
    skipped: slice.ids.flatMap((jobId) => {
      const found = statusOf.get(jobId);
      if (found === undefined) return [{ jobId, reason: "not_found" }];
      return status.includes(found) ? [] : [{ jobId, reason: `is_${found}` }];
    }),
    cursor: slice.cursor,
  };
};

const unfinished = ["blocked", "pending", "running"] as const;

/** Counts the jobs of a choice in the statuses that an action changes. */
const countIn =
  (changeable: readonly JobStatus[], bound: "finishedBefore" | "createdBefore"): PlannedAction["countAll"] =>
  async (leasehold, { ids, filter, status = changeable, before }) => {
    if (ids !== undefined) return ids.length;
    const chosen = changeable.filter((one) => status.includes(one));
    const bounded = { ...filter, status: chosen, [bound]: earlier(filter?.[bound], before) };
    const counts = await leasehold.jobs.count(bounded);
    return counts.reduce((sum, { count }) => sum + count, 0);
  };

const cancel: PlannedAction["portion"] = async (leasehold, call) => {
  const { jobs, skipped, cursor } = await find(leasehold, call, unfinished);
  const { dryRun, reason } = call;
  const { withChildren = false } = call.choice;
  const jobOf = new Map(jobs.map((job) => [job.sequenceId, job.id]));
  const report = await leasehold.jobs.cancel({
    ids: [...jobOf.keys()],
    withChildren,
    dryRun,
    ...(!dryRun && { reason }),
  });
  // A child has no job that was chosen; its sequence has the id of its first job.
  const jobIdOf = (sequenceId: string): string => jobOf.get(sequenceId) ?? sequenceId;
  const failedIds = report.changed.flatMap((one) => one.failedIds);
  // A chosen job that waits for another chosen one has failed with it.
  const refused = report.skipped.filter(({ id }) => jobOf.has(id) && !failedIds.includes(jobOf.get(id)!));
  return {
    failedIds,
    rootSequenceIds: [...new Set(jobs.map(({ rootSequenceId }) => rootSequenceId))],
    changed: report.changed.map(({ id }) => ({ jobId: jobIdOf(id), revived: 0 })),
    skipped: [...skipped, ...refused.map(({ id, reason: why }) => ({ jobId: jobIdOf(id), reason: why }))],
    cursor,
  };
};

/** A tree with an unfinished job is not deleted. */
const deleteTrees: PlannedAction["portion"] = async (leasehold, call) => {
  const { jobs, skipped, cursor } = await find(leasehold, call, ["completed", "failed"]);
  const rootSequenceIds = [...new Set(jobs.map((job) => job.rootSequenceId))];
  const { dryRun } = call;
  const report = await leasehold.deleteJobSequences({ rootSequenceIds, onlyFinished: true, dryRun });
  return {
    changed: report.changed.map(({ id }) => ({ jobId: id, revived: 0 })),
    skipped: [...skipped, ...toPortion(report.skipped)],
    cursor,
  };
};

/** Returns why the job was left as it is; undefined if it runs again with the changed input. */
const editOne = async (
  leasehold: AnyLeasehold,
  { choice: { changes = [] }, dryRun, original }: PortionCall,
  job: ListedJob,
): Promise<string | undefined> => {
  const changed = changeInput(job.input, changes);
  if (changed === undefined) return "other_input";
  if (!(await fitsJobType(original, job.typeName, changed.input))) return "invalid_input";
  if (dryRun) return undefined;
  try {
    return await replaceInput(leasehold, job, changed.input);
  } catch (error) {
    if (error instanceof SchemaValidationError) return "invalid_input";
    throw error;
  }
};

/** Runs failed jobs again, each with the same change of its input. */
const edit: PlannedAction["portion"] = async (leasehold, call) => {
  const { jobs, skipped, cursor } = await find(leasehold, call, ["failed"], "finishedBefore");
  const reasons = new Map(skipped.map(({ jobId, reason }) => [jobId, reason]));
  if (call.dryRun) {
    const report = await leasehold.jobs.redrive({ ids: jobs.map(({ id }) => id), dryRun: true });
    for (const { id, reason } of report.skipped) reasons.set(id, reason);
  }
  for (const job of jobs) {
    const reason = reasons.get(job.id) ?? (await editOne(leasehold, call, job));
    if (reason !== undefined) reasons.set(job.id, reason);
  }
  return {
    changed: jobs.flatMap(({ id }) => (reasons.has(id) ? [] : [{ jobId: id, revived: 0 }])),
    skipped: [...reasons].map(([jobId, reason]) => ({ jobId, reason })),
    cursor,
  };
};

export const plannedActions: Readonly<Record<ActionKind, PlannedAction>> = {
  redrive: {
    needs: "redrive",
    unit: "jobs",
    isFinal: false,
    command: "failed redrive",
    portion: redrive,
    countAll: countIn(["failed"], "finishedBefore"),
  },
  cancel: {
    needs: "cancel",
    unit: "jobs",
    isFinal: false,
    takesChildren: true,
    command: "cancel",
    portion: cancel,
    countAll: countIn(unfinished, "createdBefore"),
  },
  run_now: {
    needs: "update",
    unit: "jobs",
    isFinal: false,
    command: "waiting run-now",
    portion: reschedule,
    countAll: countIn(["blocked", "pending"], "createdBefore"),
  },
  reschedule: {
    needs: "update",
    unit: "jobs",
    isFinal: false,
    isTimed: true,
    command: "waiting update",
    portion: reschedule,
    countAll: countIn(["blocked", "pending"], "createdBefore"),
  },
  delete: {
    needs: "delete",
    unit: "trees",
    isFinal: true,
    command: "delete",
    portion: deleteTrees,
    // Jobs are counted, and trees are deleted.
    countAll: async () => null,
  },
  edit: {
    needs: "update",
    alsoNeeds: ["redrive", "payloads"],
    unit: "jobs",
    isFinal: false,
    changesInputs: true,
    command: "failed redrive",
    portion: edit,
    countAll: countIn(["failed"], "finishedBefore"),
  },
};

/** A choice as JSON, in the input of a job. */
export interface StoredChoice {
  readonly ids?: readonly string[];
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly status?: readonly JobStatus[];
  readonly withChildren?: boolean;
  readonly changes?: readonly InputChange[];
  readonly before: string;
  readonly schedule?: { readonly at: string } | { readonly afterMs: number };
}

export const restoreChoice = ({ filter, before, schedule, ...rest }: StoredChoice): Choice => ({
  ...rest,
  filter:
    filter &&
    (Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [
        name,
        isTimeField(name) ? new Date(String(value)) : value,
      ]),
    ) as unknown as Choice["filter"]),
  before: new Date(before),
  schedule: schedule && ("at" in schedule ? { at: new Date(schedule.at) } : schedule),
});
