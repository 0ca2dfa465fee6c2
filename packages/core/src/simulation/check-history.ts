import { lostLeasesAbort } from "./checks/aborts.ts";
import { batchesKeepJobsApart } from "./checks/batches.ts";
import { blockersAreHonoured } from "./checks/blockers.ts";
import type { Check, CheckContext } from "./checks/check.ts";
import { continuationsAreExact } from "./checks/continuations.ts";
import { duplicatesAreRefused } from "./checks/deduplication.ts";
import { everythingDrains } from "./checks/draining.ts";
import { endingsAreJudgedRight } from "./checks/endings.ts";
import { executionsAreBounded } from "./checks/executions.ts";
import { leasesNeverOverlap, staleLeasesChangeNothing } from "./checks/leases.ts";
import { batchesAreSorted, claimsFollowOrder, placesAreNotInThePast } from "./checks/order.ts";
import {
  groupsStayInOrder,
  nothingIsClaimedInAPause,
  openLinesAreServed,
  ratesHold,
  rulesLimitRunningJobs,
} from "./checks/limits.ts";
import { createLimitsView } from "./checks/limits-view.ts";
import { poisonHarmsNobodyElse } from "./checks/poison.ts";
import { recurringJobsStartOnce } from "./checks/recurring-jobs.ts";
import { acknowledgedStartsSurvive, rolledBackStartsNeverRun } from "./checks/starts.ts";
import { createTable } from "./checks/table.ts";
import { terminalStatesStay } from "./checks/terminal.ts";
import { onlyWaitingJobsChange, replacementsTakeEffect, waitingJobsExpire } from "./checks/waiting-jobs.ts";
import { limitsHold, stoppedWorkersHoldNothing } from "./checks/workers.ts";
import type { HistoryEvent } from "./history.ts";
import type { SimulationPlan } from "./plan.ts";

/** A promise that a simulated run has broken. */
export interface Violation {
  /** The promise that was broken. */
  readonly invariant: string;
  readonly message: string;
  /** With which it was noticed. */
  readonly event: HistoryEvent;
}

const checks: readonly Check[] = [
  acknowledgedStartsSurvive,
  rolledBackStartsNeverRun,
  leasesNeverOverlap,
  staleLeasesChangeNothing,
  terminalStatesStay,
  executionsAreBounded,
  continuationsAreExact,
  blockersAreHonoured,
  everythingDrains,
  duplicatesAreRefused,
  onlyWaitingJobsChange,
  replacementsTakeEffect,
  waitingJobsExpire,
  limitsHold,
  stoppedWorkersHoldNothing,
  claimsFollowOrder,
  placesAreNotInThePast,
  batchesAreSorted,
  lostLeasesAbort,
  endingsAreJudgedRight,
  poisonHarmsNobodyElse,
  rulesLimitRunningJobs,
  ratesHold,
  groupsStayInOrder,
  nothingIsClaimedInAPause,
  openLinesAreServed,
  recurringJobsStartOnce,
  batchesKeepJobsApart,
];

/** Goes through a history once, with all checks watching, and returns what they object to. */
export const checkHistory = (plan: SimulationPlan, events: readonly HistoryEvent[]): Violation[] => {
  const table = createTable();
  const flow = createLimitsView();
  const violations: Violation[] = [];
  const faults = events.filter((event) => event.kind === "fault");
  let current = events[0]!;

  const faultsOf: CheckContext["faultsOf"] = (process, from, to) =>
    faults.filter(
      (fault) =>
        (fault.process === null || fault.process === process) && fault.at <= to && fault.until >= from,
    );

  const visitors = checks.map(({ invariant, watch }) =>
    watch({
      plan,
      table,
      flow,
      faultsOf,
      report: (message) => violations.push({ invariant, message, event: current }),
    }),
  );

  for (const event of events) {
    current = event;
    if (event.kind === "applied") {
      for (const step of event.steps) {
        table.apply(step);
        flow.apply(step);
        for (const visitor of visitors) visitor.onStep?.(step, event);
      }
    }
    for (const visitor of visitors) visitor.onEvent?.(event);
  }
  return violations;
};
