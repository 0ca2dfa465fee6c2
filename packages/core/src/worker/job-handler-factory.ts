import type { JobTypeName } from "../job-types/markers.ts";
import type { JobTypeNames } from "../job-types/navigation.ts";
import type { ImplementJobTypeOptions } from "./api.ts";
import type { JobHandler, ProcessOptions } from "./handler-api.ts";

/** What a Leasehold is typed by. */
export interface LeaseholdTypes<TDefs, TTxContext, TJobId extends string> {
  readonly definitions: TDefs;
  readonly context: TTxContext;
  readonly jobId: TJobId;
}

/** Any Leasehold, for types that read what it is typed by. */
export interface TypedLeasehold {
  readonly "~types"?: LeaseholdTypes<unknown, unknown, string>;
}

type TypesOf<TLeasehold extends TypedLeasehold> = NonNullable<TLeasehold["~types"]>;

/** The names of the job types of a Leasehold: `JobTypeNameOf<typeof leasehold>`. */
export type JobTypeNameOf<TLeasehold extends TypedLeasehold> = JobTypeName<
  TypesOf<TLeasehold>["definitions"]
>;

/** What the handler of one type gets: `ProcessOptionsOf<typeof leasehold, "send-mail">`. */
export type ProcessOptionsOf<
  TLeasehold extends TypedLeasehold,
  TTypeName extends JobTypeNameOf<TLeasehold>,
  TValues = unknown,
> = ProcessOptions<
  TypesOf<TLeasehold>["definitions"],
  TypesOf<TLeasehold>["context"],
  TypesOf<TLeasehold>["jobId"],
  TTypeName
> &
  TValues;

/** The handler of one type: `JobHandlerOf<typeof leasehold, "send-mail">`. */
export type JobHandlerOf<
  TLeasehold extends TypedLeasehold,
  TTypeName extends JobTypeNameOf<TLeasehold>,
  TValues = unknown,
> = JobHandler<
  TypesOf<TLeasehold>["definitions"],
  TypesOf<TLeasehold>["context"],
  TypesOf<TLeasehold>["jobId"],
  TTypeName,
  TValues
>;

/** Types a handler that is written apart from its worker. Pass the result to `implementJobType`. */
export interface CreateJobHandler<TDefs, TTxContext, TJobId extends string, TValues> {
  <TTypeName extends JobTypeNames<TDefs>["all"]>(
    options: ImplementJobTypeOptions<TDefs, TTxContext, TJobId, TTypeName, TValues>,
  ): ImplementJobTypeOptions<TDefs, TTxContext, TJobId, TTypeName, TValues>;
}

/**
 * For handlers in files of their own:
 *
 *     import type { leasehold } from "./leasehold.ts";
 *     export const createJobHandler = createJobHandlerFactory<typeof leasehold>();
 *
 *     export const sendMail = createJobHandler({ typeName: "send-mail", process: async ({ job }) => … });
 *
 *     leasehold.createWorker().implementJobType(sendMail);
 *
 * `TValues` are what the worker's middleware passes to its handlers.
 */
export const createJobHandlerFactory =
  <TLeasehold extends TypedLeasehold, TValues = unknown>(): CreateJobHandler<
    TypesOf<TLeasehold>["definitions"],
    TypesOf<TLeasehold>["context"],
    TypesOf<TLeasehold>["jobId"],
    TValues
  > =>
  (options) =>
    options;
