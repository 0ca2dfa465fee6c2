import { shielded } from "../base/async.ts";
import { errorWithoutData, restoreError } from "../base/stored-error.ts";
import type { NewJob } from "../store/contract/creation.ts";
import type { JobReference, StateJob, StateSequence } from "../store/contract/job.ts";
import type { JobOutcome } from "../store/contract/outcomes.ts";
import type {
  AttemptTrace,
  AttemptTraceData,
  AttemptTraceEnding,
  ObservabilityAdapter,
  StartTrace,
  StartTraceData,
} from "./adapter.ts";
import type { JobEventData, LeaseholdEventName, LeaseholdEvents } from "./events.ts";
import { type Log, type LogEntry, loggedEvents } from "./log.ts";

/** Reports an event to the log and the metrics. `data` is built only if the event has a listener. */
export type Observe = <TName extends LeaseholdEventName>(
  name: TName,
  data: () => LeaseholdEvents[TName],
) => void;

/** Spread it last in a larger literal: adding to a copy costs V8 a microsecond for each field. */
export const jobEventData = (job: JobReference): JobEventData => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  sequenceId: job.sequenceId,
  sequenceTypeName: job.sequenceTypeName,
  rootSequenceId: job.rootSequenceId,
});

/** As `shielded`, without a closure: several events come with every job. */
const report = (observability: ObservabilityAdapter, count: Function, values: object): void => {
  try {
    const result: unknown = count.call(observability, values);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // Reporting the failure of the reporter would go through the same reporter.
  }
};

const withoutErrorData = <T extends object>(values: T): T => {
  const { error } = values as { error?: unknown };
  if (error === undefined || error === null) return values;
  const stripped = errorWithoutData(error);
  return stripped === error ? values : { ...values, error: stripped };
};

const observeNothing: Observe = () => {};

/** False without a listener: events need not be prepared. */
export const isObserved = (observe: Observe): boolean => observe !== observeNothing;

export const createObserve = (
  log: Log | undefined,
  observability: ObservabilityAdapter | undefined,
): Observe => {
  if (!log && !observability) return observeNothing;
  const said = new Set<LeaseholdEventName>();
  return (name, data) => {
    const count = observability?.[name];
    const line = log && !said.has(name) ? loggedEvents[name] : undefined;
    if (!count && !line) return;
    const values = withoutErrorData(data());
    if (typeof count === "function") report(observability!, count, values);
    if (line) {
      if (line[2] === "once") said.add(name);
      shielded(() =>
        log!({ level: line[0], event: name, message: line[1], data: values } as unknown as LogEntry),
      );
    }
  };
};

/** The span of an attempt. A plain record with functions beside it, because closures for every job would cost more. */
export interface AttemptSpan {
  readonly trace: AttemptTrace;
  /** Why the signal of the attempt was aborted; the first reason counts. */
  abortReason: string | null;
}

export interface Tracer {
  start(data: StartTraceData): StartTrace | undefined;
  attempt(data: AttemptTraceData): AttemptSpan | undefined;
}

/** Undefined without a tracer, so that an untraced call costs one check. */
export const createTracer = (observability: ObservabilityAdapter | undefined): Tracer | undefined => {
  const tracing = observability?.tracing;
  const { start, attempt } = tracing ?? {};
  if (typeof start !== "function" && typeof attempt !== "function") return undefined;
  return {
    start: (data) => ask(() => start?.call(tracing, data)),
    attempt: (data) => {
      const trace = ask(() => attempt?.call(tracing, data));
      return trace && { trace, abortReason: null };
    },
  };
};

const ask = <T extends object>(question: () => T | undefined): T | undefined => {
  try {
    const answer = question();
    return typeof answer === "object" && answer !== null ? answer : undefined;
  } catch {
    return undefined;
  }
};

/** Runs the work exactly once, whatever the adapter makes of being asked to surround it. */
const runInside = <T>(trace: Pick<StartTrace, "run">, callback: () => Promise<T>): Promise<T> => {
  let running: Promise<T> | undefined;
  const runOnce = (): Promise<T> => (running ??= callback());
  try {
    const returned: unknown = trace.run(runOnce);
    if (returned instanceof Promise && returned !== running) returned.catch(() => {});
  } catch {
    // The work continues without a span.
  }
  return runOnce();
};

export const runInSpan = <T>({ trace }: AttemptSpan, callback: () => Promise<T>): Promise<T> =>
  runInside(trace, callback);

export const linkBlockers = ({ trace }: AttemptSpan, blockers: readonly StateSequence[]): void => {
  const links = blockers.map(({ first, current }) => ({
    sequenceId: first.id,
    traceContext: current.traceContext,
  }));
  shielded(() => trace.linkBlockers?.(links));
};

const endSpan = (
  { trace, abortReason }: AttemptSpan,
  outcome: AttemptTraceEnding["outcome"],
  error: string | null = null,
  failureReason: AttemptTraceEnding["failureReason"] = null,
): void => shielded(() => trace.end({ outcome, abortReason, failureReason, error: restoreError(error) }));

/** The outcome was written; `completed` where the attempt did so itself. */
export const endRecordedSpan = (span: AttemptSpan, outcome: JobOutcome | "completed"): void => {
  if (outcome === "completed") return endSpan(span, "completed");
  switch (outcome.kind) {
    case "complete":
      return endSpan(span, "completed");
    case "retry":
      return endSpan(span, "retried", outcome.error);
    case "release":
      return endSpan(span, outcome.schedule ? "rescheduled" : "released", outcome.error);
    case "fail":
      return endSpan(span, "failed", outcome.error, outcome.reason);
  }
};

/** Nothing of the attempt counts. */
export const endLostSpan = (span: AttemptSpan, reason: string | null): void => {
  span.abortReason ??= reason;
  endSpan(span, "lease_lost");
};

// A store could choke on anything else, and tracing must not make a start fail.
const storableTraceContext = /^[\x20-\x7e]{1,4096}$/;

const readTraceContext = (trace: StartTrace): string | null => {
  const text: unknown = trace.traceContext;
  return typeof text === "string" && storableTraceContext.test(text) ? text : null;
};

/** Creates jobs inside a span and gives them its context; without a tracer it just creates them. */
export const traceStart = <T extends { readonly deduplicated: boolean }>(
  tracer: Tracer | undefined,
  data: Pick<StartTraceData, "operation" | "predecessor">,
  jobs: readonly NewJob[],
  create: (jobs: readonly NewJob[]) => Promise<T[]>,
): Promise<T[]> => {
  const trace = tracer?.start({ ...data, jobs });
  return trace ? createInSpan(trace, jobs, create) : create(jobs);
};

/** The same for jobs that each continue another one: a span for each, and one call that creates them all. */
export const traceContinuations = async <T extends { readonly deduplicated: boolean }>(
  tracer: Tracer | undefined,
  predecessors: readonly StateJob[],
  jobs: readonly NewJob[],
  create: (jobs: readonly NewJob[]) => Promise<T[]>,
): Promise<T[]> => {
  if (!tracer) return create(jobs);
  if (jobs.length === 1)
    return traceStart(tracer, { operation: "continueWith", predecessor: predecessors[0]! }, jobs, create);
  const traces = jobs.map((job, index) =>
    tracer.start({ operation: "continueWith", predecessor: predecessors[index]!, jobs: [job] }),
  );
  const endAll = (ending: Parameters<StartTrace["end"]>[0]): void => {
    for (const trace of traces) if (trace) shielded(() => trace.end(ending));
  };
  try {
    const created = await create(
      jobs.map((job, index) => {
        const trace = traces[index];
        return trace ? { ...job, traceContext: readTraceContext(trace) } : job;
      }),
    );
    endAll({ deduplicated: 0 });
    return created;
  } catch (error) {
    endAll({ deduplicated: 0, error });
    throw error;
  }
};

const createInSpan = async <T extends { readonly deduplicated: boolean }>(
  trace: StartTrace,
  jobs: readonly NewJob[],
  create: (jobs: readonly NewJob[]) => Promise<T[]>,
): Promise<T[]> => {
  const traceContext = readTraceContext(trace);
  try {
    const created = await runInside(trace, async () => create(jobs.map((job) => ({ ...job, traceContext }))));
    const deduplicated = created.filter((result) => result.deduplicated).length;
    shielded(() => trace.end({ deduplicated }));
    return created;
  } catch (error) {
    shielded(() => trace.end({ deduplicated: 0, error }));
    throw error;
  }
};
