import type { ConformanceRunner } from "./runner.ts";
import { defineScenarios, type Scenario } from "./scenario.ts";
import type { ScenarioFixture } from "./scenario-fixture.ts";
import { describeAttempts } from "./scenarios/attempts.ts";
import { describeBatches } from "./scenarios/batches.ts";
import { describeBlockerCycles } from "./scenarios/blocker-cycles.ts";
import { describeBlockerFailure } from "./scenarios/blocker-failure.ts";
import { describeBlockers } from "./scenarios/blockers.ts";
import { describeCancellationOfChildren } from "./scenarios/cancel-children.ts";
import { describeCancellation } from "./scenarios/cancellation.ts";
import { describeClosing } from "./scenarios/closing.ts";
import { describeContinuations } from "./scenarios/continuations.ts";
import { describeDebounce } from "./scenarios/debounce.ts";
import { describeDeclarations } from "./scenarios/declarations.ts";
import { describeDeduplication } from "./scenarios/deduplication.ts";
import { describeDeletion } from "./scenarios/deletion.ts";
import { describeExplanations } from "./scenarios/explanations.ts";
import { describeFamilyTrees } from "./scenarios/family-tree.ts";
import { describeLimitScopes } from "./scenarios/limit-scopes.ts";
import { describeLimits } from "./scenarios/limits.ts";
import { describeForgottenAwaits } from "./scenarios/forgotten-awaits.ts";
import { describeHealth } from "./scenarios/health.ts";
import { describeIds } from "./scenarios/ids.ts";
import { describeLostLeases } from "./scenarios/lost-leases.ts";
import { describeManyWorkers } from "./scenarios/many-workers.ts";
import { describeMiddleware } from "./scenarios/middleware.ts";
import { describeNotifications } from "./scenarios/notifications.ts";
import { describePayloads } from "./scenarios/payloads.ts";
import { describePrepareAndComplete } from "./scenarios/prepare-complete.ts";
import { describeProgress } from "./scenarios/progress.ts";
import { describeDiscarding } from "./scenarios/discarding.ts";
import { describePruning } from "./scenarios/pruning.ts";
import { describeQueries } from "./scenarios/queries.ts";
import { describeQueues } from "./scenarios/queues.ts";
import { describeRecurringJobs } from "./scenarios/recurring-jobs.ts";
import { describeRedrive } from "./scenarios/redrive.ts";
import { describeRetries } from "./scenarios/retries.ts";
import { describeRolledBackTransactions } from "./scenarios/rolled-back.ts";
import { describeScheduling } from "./scenarios/scheduling.ts";
import { describeSchemas } from "./scenarios/schemas.ts";
import { describeSimpleHandlers } from "./scenarios/simple-handler.ts";
import { describeStarting } from "./scenarios/starting.ts";
import { describeStopping } from "./scenarios/stopping.ts";
import { describeThrownValues } from "./scenarios/thrown-values.ts";
import { describeTimeouts } from "./scenarios/timeouts.ts";
import { describeTransactions } from "./scenarios/transactions.ts";
import { describeUnknownTypes } from "./scenarios/unknown-types.ts";
import { describeWaiting } from "./scenarios/waiting.ts";
import { describeWaitingJobs } from "./scenarios/waiting-jobs.ts";
import { describeWorkerlessCompletion } from "./scenarios/workerless-completion.ts";

/** Stories about transactions, which every client of a database opens in its own way. */
export const transactionStories = [
  "workerless completion",
  "prepare and complete",
  "transactions that the store rolls back",
  "transactions",
] as const;

/** Other stories whose course depends on the store. */
const otherStoreStories = [
  "starting",
  "simple handlers",
  "continuations",
  "blockers",
  "family trees",
  "failure of a blocker",
  "blocker cycles",
  "deduplication",
  "debounce",
  "scheduling",
  "recurring jobs",
  "retries",
  "attempts",
  "redrive",
  "jobs that wait",
  "cancellation",
  "cancellation of children",
  "batch handlers",
  "notifications",
  "queues",
  "groups and limits",
  "scopes of limits",
  "lost leases",
  "many workers",
  "waiting",
  "queries",
  "explanations",
  "deletion",
  "pruning",
  "nothing kept",
] as const;

/** Stories that core decides on its own. They run once, on the in-process store. */
export const coreStories = [
  "closing",
  "what job types declare",
  "ids",
  "timeouts",
  "a forgotten await",
  "types without a handler",
  "middleware",
  "progress",
  "thrown values",
  "payloads",
  "schemas",
  "stopping",
  "worker health",
] as const;

/** The name of a story of `scenarioConformance`. */
export type StoryName =
  | (typeof transactionStories)[number]
  | (typeof otherStoreStories)[number]
  | (typeof coreStories)[number];

export const storeStories: readonly StoryName[] = [...transactionStories, ...otherStoreStories];

const scenarios: Readonly<Record<StoryName, Scenario>> = {
  "workerless completion": describeWorkerlessCompletion,
  "prepare and complete": describePrepareAndComplete,
  "transactions that the store rolls back": describeRolledBackTransactions,
  transactions: describeTransactions,
  starting: describeStarting,
  "simple handlers": describeSimpleHandlers,
  continuations: describeContinuations,
  blockers: describeBlockers,
  "family trees": describeFamilyTrees,
  "failure of a blocker": describeBlockerFailure,
  "blocker cycles": describeBlockerCycles,
  debounce: describeDebounce,
  deduplication: describeDeduplication,
  scheduling: describeScheduling,
  "recurring jobs": describeRecurringJobs,
  retries: describeRetries,
  attempts: describeAttempts,
  redrive: describeRedrive,
  "jobs that wait": describeWaitingJobs,
  cancellation: describeCancellation,
  "cancellation of children": describeCancellationOfChildren,
  "batch handlers": describeBatches,
  notifications: describeNotifications,
  queues: describeQueues,
  "groups and limits": describeLimits,
  "scopes of limits": describeLimitScopes,
  "lost leases": describeLostLeases,
  "many workers": describeManyWorkers,
  waiting: describeWaiting,
  queries: describeQueries,
  explanations: describeExplanations,
  deletion: describeDeletion,
  pruning: describePruning,
  "nothing kept": describeDiscarding,
  closing: describeClosing,
  "what job types declare": describeDeclarations,
  ids: describeIds,
  timeouts: describeTimeouts,
  "a forgotten await": describeForgottenAwaits,
  "types without a handler": describeUnknownTypes,
  middleware: describeMiddleware,
  progress: describeProgress,
  "thrown values": describeThrownValues,
  payloads: describePayloads,
  schemas: describeSchemas,
  stopping: describeStopping,
  "worker health": describeHealth,
};

/** Options of `scenarioConformance`. */
export interface ScenarioConformanceOptions {
  /** Default: every story whose course depends on the store. */
  readonly only?: readonly StoryName[] | undefined;
}

/** The stories that every state adapter has to pass through the whole of core, in real time. */
export const scenarioConformance = (
  runner: ConformanceRunner,
  fixture: ScenarioFixture,
  { only = storeStories }: ScenarioConformanceOptions = {},
): void => defineScenarios(runner, fixture, Object.fromEntries(only.map((name) => [name, scenarios[name]])));
