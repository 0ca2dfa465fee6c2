export { type FastCheck, modelConformance, type ModelConformanceOptions } from "./conformance/model.ts";

export {
  type LosingAdapter,
  lostStatementConformance,
  type LostStatementFixture,
  type TableDump,
} from "./conformance/lost-statement.ts";

export { type ApiOperation, apiOperations, type ApiUnderTest } from "./conformance/api-operations.ts";

export { nthCallConformance, type NthCallFixture, type NthCallOptions } from "./conformance/nth-call.ts";

export { notifyAdapterConformance } from "./conformance/notify-adapter.ts";

export type { NotifyAdapterFixture } from "./conformance/notify-fixture.ts";

export { brokerConformance } from "./conformance/notify-broker.ts";

export type { BrokerConnections, BrokerFixture } from "./conformance/notify-broker-fixture.ts";

export { notifyTransportConformance } from "./conformance/notify-transport.ts";

export type {
  NotifyTransportFixture,
  NotifyTransportsUnderTest,
} from "./conformance/notify-transport-fixture.ts";

export type { ConformanceRunner } from "./conformance/runner.ts";

export type { ScenarioFixture, ScenarioStores } from "./conformance/scenario-fixture.ts";

export { sampleRunner } from "./conformance/sample.ts";

export {
  scenarioConformance,
  type ScenarioConformanceOptions,
  type StoryName,
  transactionStories,
} from "./conformance/scenario-suite.ts";

export { stateAdapterConformance } from "./conformance/state-adapter.ts";

export type { StateAdapterFixture } from "./conformance/state-fixture.ts";

export {
  createDeterministicRuntime,
  type DeterministicRuntime,
  type DeterministicRuntimeOptions,
} from "./testing/deterministic-runtime.ts";

export {
  type Fault,
  type FaultPlan,
  type FaultyCall,
  onNthCall,
  onRandomCalls,
  type RandomFaultsOptions,
} from "./testing/fault-plans.ts";

export { type FaultOptions, InjectedFaultError, withFaults } from "./testing/faults.ts";

export {
  createManualClock,
  type ManualClock,
  type ManualClockOptions,
  type RunUntilOptions,
} from "./testing/manual-clock.ts";

export { recordCalls, type RecordedAdapter, type RecordedCall } from "./testing/record-calls.ts";

export { createSeededRandom, type SeededRandom } from "./testing/seeded-random.ts";

export {
  type ContextOption,
  createTestKit,
  type StartableWorker,
  type StoreOption,
  type TestKit,
  type TestKitOptions,
} from "./testing/test-kit.ts";

export type { Violation } from "./simulation/check-history.ts";

export { faultKinds, type FaultStrengths, type SimulationFault } from "./simulation/faults.ts";

export type { HistoryEvent } from "./simulation/history.ts";

export type { PlanLimits, SimulationPlan } from "./simulation/plan.ts";

export { shrinkSimulation } from "./simulation/shrink.ts";

export { simulate, type SimulationOptions, type SimulationResult } from "./simulation/simulate.ts";

export { formatTimeline } from "./simulation/timeline.ts";

export { traceHash } from "./simulation/trace-hash.ts";

export type { OperationContext, SimulatedProcess, SimulationWorkload } from "./simulation/workload.ts";
