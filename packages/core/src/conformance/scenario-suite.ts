import type { ConformanceRunner } from "./runner.ts";
import { defineScenarios, type Scenario } from "./scenario.ts";
import type { ScenarioFixture } from "./scenario-fixture.ts";
import { describeBatches } from "./scenarios/batches.ts";
import { describeBlockerCycles } from "./scenarios/blocker-cycles.ts";
import { describeBlockerFailure } from "./scenarios/blocker-failure.ts";
import { describeBlockers } from "./scenarios/blockers.ts";
import { describeCancellation } from "./scenarios/cancellation.ts";
import { describeClosing } from "./scenarios/closing.ts";
import { describeContinuations } from "./scenarios/continuations.ts";
import { describeDeclarations } from "./scenarios/declarations.ts";
import { describeDeduplication } from "./scenarios/deduplication.ts";
import { describeDeletion } from "./scenarios/deletion.ts";
import { describeExplanations } from "./scenarios/explanations.ts";
import { describeFamilyTrees } from "./scenarios/family-tree.ts";
import { describeFlow } from "./scenarios/limits.ts";
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

const scenarios: Readonly<Record<string, Scenario>> = {
  starting: describeStarting,
  "simple handlers": describeSimpleHandlers,
  closing: describeClosing,
  continuations: describeContinuations,
  blockers: describeBlockers,
  "what job types declare": describeDeclarations,
  ids: describeIds,
  "family trees": describeFamilyTrees,
  "failure of a blocker": describeBlockerFailure,
  "blocker cycles": describeBlockerCycles,
  "workerless completion": describeWorkerlessCompletion,
  deduplication: describeDeduplication,
  scheduling: describeScheduling,
  "recurring jobs": describeRecurringJobs,
  retries: describeRetries,
  redrive: describeRedrive,
  "jobs that wait": describeWaitingJobs,
  cancellation: describeCancellation,
  timeouts: describeTimeouts,
  "prepare and complete": describePrepareAndComplete,
  "batch handlers": describeBatches,
  "a forgotten await": describeForgottenAwaits,
  "transactions that the store rolls back": describeRolledBackTransactions,
  transactions: describeTransactions,
  notifications: describeNotifications,
  queues: describeQueues,
  "groups and limits": describeFlow,
  "types without a handler": describeUnknownTypes,
  middleware: describeMiddleware,
  progress: describeProgress,
  "thrown values": describeThrownValues,
  payloads: describePayloads,
  schemas: describeSchemas,
  stopping: describeStopping,
  "lost leases": describeLostLeases,
  "many workers": describeManyWorkers,
  waiting: describeWaiting,
  queries: describeQueries,
  explanations: describeExplanations,
  deletion: describeDeletion,
  pruning: describePruning,
  "worker health": describeHealth,
};

/** The stories that every state adapter has to pass through the whole of core, in real time. */
export const scenarioConformance = (runner: ConformanceRunner, fixture: ScenarioFixture): void =>
  defineScenarios(runner, fixture, scenarios);
