import { createAsyncScope } from "./base/async.ts";
import { readRetryConfig, type RetryConfig } from "./base/backoff.ts";
import { type Codec, defaultMaxPayloadBytes, jsonCodec } from "./base/codec.ts";
import { InvalidOptionError } from "./base/errors.ts";
import {
  longestDurationMs,
  optionalInteger,
  type OptionNames,
  requireBoolean,
  requireArray,
  requireFunction,
  requireId,
  requireName,
  requireOptions,
} from "./base/options.ts";
import { createSystemRuntime, type Runtime } from "./base/runtime.ts";
import {
  coalesceCreations,
  createDispatch,
  defaultStoreDeadlineMs,
  defaultStoreRetry,
} from "./engine/dispatch.ts";
import type { Engine } from "./engine/engine.ts";
import { createReporter } from "./history/reporter.ts";
import type { JobTypes } from "./job-types/define.ts";
import type { ExternalJobTypeName } from "./job-types/navigation.ts";
import { createJobTypeRegistry, createRetention } from "./job-types/registry.ts";
import { type LeaseholdDefaults, parseDefaults } from "./job-types/settings.ts";
import type { NotifyAdapter } from "./notify/contract.ts";
import { withInProcess } from "./notify/in-process.ts";
import { createListening, createNotifier } from "./notify/notifier.ts";
import type { ObservabilityAdapter } from "./observability/adapter.ts";
import type { Log } from "./observability/log.ts";
import { createObserve, createTracer } from "./observability/observe.ts";
import type { RecurringJobDeclarations } from "./recurring/api.ts";
import type { AnyStateAdapter, GetStateAdapterJobId } from "./store/contract/state-adapter.ts";
import { createLifecycle } from "./worker/lifecycle.ts";

/** The argument of `createLeasehold`. */
export interface LeaseholdOptions<TDefs, TStateAdapter extends AnyStateAdapter> {
  /** Where jobs are stored. */
  readonly stateAdapter: TStateAdapter;
  /** Your job types, from `defineJobTypes` or `defineUnionJobTypes`. */
  readonly jobTypes: JobTypes<TDefs>;
  /**
   * Sends notifications to other processes. Default: none, so that other processes find new jobs by polling. Within this
   * process, all that share the state adapter are always notified at once.
   */
  readonly notifyAdapter?: NotifyAdapter | undefined;
  /** Gets events, for metrics and traces. */
  readonly observabilityAdapter?: ObservabilityAdapter | undefined;
  /** Called with each event that is worth a line. `createConsoleLog` prints them. */
  readonly log?: Log | undefined;
  /** Encodes inputs and outputs as text. Default: JSON, which refuses values that it would change. */
  readonly codec?: Codec | undefined;
  /** The largest input, output or progress value, in bytes. Default: 1 MiB each. */
  readonly maxPayloadBytes?: number | undefined;
  /** How long the store may take to answer one call. Default: 10 seconds. */
  readonly storeDeadlineMs?: number | undefined;
  /** How store calls that fail with a transient error are repeated. */
  readonly storeRetry?: RetryConfig | undefined;
  /** Defaults for all jobs. Job types, handlers and starts override them. */
  readonly defaults?: LeaseholdDefaults | undefined;
  /**
   * Creates ids for jobs that are started or continued without one: 1 to 200 characters that fit the id type of the store,
   * and never the same twice. Ids that increase with time are cheapest to store. Default: UUIDv7.
   */
  readonly createId?: (() => GetStateAdapterJobId<TStateAdapter>) | undefined;
  /**
   * Recurring jobs that belong to this program: put now, and on request those removed that it had declared before. Programs that
   * share a store keep apart by `owner`.
   */
  readonly recurringJobs?:
    | RecurringJobDeclarations<NoInfer<TDefs>, ExternalJobTypeName<NoInfer<TDefs>>>
    | undefined;
  /**
   * The version of your program, such as a release or a commit, of at most 100 characters. Failed attempts and statistics say
   * which one they come from. Default: none.
   */
  readonly deployment?: string | undefined;
  /**
   * Whether this process counts what it does and tells the store, about once a second. Default: true, where the store keeps
   * a history. With false, it is missing in statistics and lists of processes.
   */
  readonly statistics?: boolean | undefined;
  /** The sources of time, randomness and ids, for tests. */
  readonly runtime?: Runtime | undefined;
}

const knownOptions: OptionNames<keyof LeaseholdOptions<unknown, AnyStateAdapter>> = {
  stateAdapter: true,
  jobTypes: true,
  notifyAdapter: true,
  observabilityAdapter: true,
  log: true,
  codec: true,
  maxPayloadBytes: true,
  storeDeadlineMs: true,
  storeRetry: true,
  defaults: true,
  createId: true,
  recurringJobs: true,
  deployment: true,
  statistics: true,
  runtime: true,
};

/** Checks the options of `createLeasehold` and connects the parts: adapter → dispatch → coalescing → use cases. */
export const createEngine = <TDefs, TStateAdapter extends AnyStateAdapter>(
  passed: LeaseholdOptions<TDefs, TStateAdapter>,
): Engine => {
  const options = requireOptions(passed, "createLeasehold", knownOptions) as LeaseholdOptions<
    TDefs,
    TStateAdapter
  >;
  const runtime = options.runtime ?? createSystemRuntime();
  requireMethods(runtime, "runtime", ["random", "createId", "createToken"]);
  requireMethods(runtime.clock, "runtime.clock", ["now", "monotonic", "setTimer", "soon"]);
  requireMethods(options.stateAdapter, "stateAdapter", ["createJobs", "claimJobs", "commitOutcomes"]);
  requireArray(options.stateAdapter.contextKeys, "stateAdapter.contextKeys");
  if (options.notifyAdapter !== undefined) {
    requireMethods(options.notifyAdapter, "notifyAdapter", ["notifyJobScheduled", "listenJobScheduled"]);
  }
  const notifyAdapters = withInProcess(options.stateAdapter, options.notifyAdapter);
  const codec = options.codec ?? jsonCodec;
  requireMethods(codec, "codec", ["encode", "decode"]);
  if (options.log !== undefined) requireFunction(options.log, "log");
  const observe = createObserve(options.log, options.observabilityAdapter);
  const jobTypes = createJobTypeRegistry(options.jobTypes);
  const defaults = parseDefaults(options.defaults);
  const retention = createRetention(defaults.retention, jobTypes.known, {
    canDiscard: options.stateAdapter.capabilities.discardsCompleted === true,
  });
  const dispatch = createDispatch({
    mayVanish: ({ id, rootSequenceId, sequenceTypeName, deduplication }) =>
      id === rootSequenceId && deduplication === null && retention.keepsNothing(sequenceTypeName),
    adapter: options.stateAdapter,
    runtime,
    observe,
    deadlineMs: optionalInteger(options.storeDeadlineMs, "storeDeadlineMs", defaultStoreDeadlineMs, {
      min: 1,
      max: longestDurationMs,
    }),
    retry: readRetryConfig(options.storeRetry, "storeRetry", defaultStoreRetry),
  });
  const deployment =
    options.deployment === undefined
      ? null
      : requireName(options.deployment, "deployment", { maxLength: 100 });
  const statistics = options.statistics === undefined || requireBoolean(options.statistics, "statistics");
  const workerless = [...jobTypes.known].filter(([, type]) => type.workerless).map(([name]) => name);
  const reporter = createReporter({ store: dispatch, runtime, observe, deployment, statistics, workerless });
  const notifier = createNotifier(notifyAdapters, observe, runtime.clock);
  return {
    store: coalesceCreations(dispatch, runtime.clock),
    notifier,
    lifecycle: createLifecycle(notifier, reporter),
    listening: createListening(notifyAdapters, observe, runtime),
    listeningInProcess: createListening(
      notifyAdapters.filter(({ coversInProcess }) => coversInProcess),
      observe,
      runtime,
    ),
    observe,
    reporter,
    tally: reporter.tally,
    tracer: createTracer(options.observabilityAdapter),
    runtime,
    codec,
    maxPayloadBytes: optionalInteger(options.maxPayloadBytes, "maxPayloadBytes", defaultMaxPayloadBytes, {
      min: 1,
      max: 2 ** 30,
    }),
    jobTypes,
    defaults,
    retention,
    createId: parseCreateId(options.createId, options.stateAdapter.idGenerator) ?? runtime.createId,
    deployment,
    scope: createAsyncScope(),
  };
};

/** Checked here, where the option can be named. Stores check what their id type needs. */
const parseCreateId = (createId: unknown, idGenerator: unknown): (() => string) | undefined => {
  const option = createId === undefined ? "stateAdapter.idGenerator" : "createId";
  const given = createId ?? idGenerator;
  if (given === undefined) return undefined;
  const create = requireFunction<() => unknown>(given, option);
  return () => {
    const id = create();
    // If the function is async by mistake, its rejection must not end the process.
    if (id instanceof Promise) id.catch(() => undefined);
    return requireId(id, `${option}()`);
  };
};

const requireMethods = (value: unknown, option: string, methods: readonly string[]): void => {
  const missing = methods.find(
    (method) => typeof (value as Record<string, unknown> | null | undefined)?.[method] !== "function",
  );
  if (missing !== undefined) throw new InvalidOptionError(option, `must have a method ${missing}`, value);
};
