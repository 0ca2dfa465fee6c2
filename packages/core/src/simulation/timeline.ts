import type { StateJob } from "../store/contract/job.ts";
import { short } from "./checks/check.ts";
import type { HistoryEvent, RowChange, StoreStep } from "./history.ts";
import type { SimulationResult } from "./simulate.ts";

const describeRow = ({ status, attempt, leaseVersion }: StateJob): string =>
  `${status} a${attempt} v${leaseVersion}`;

const describeChange = ({ before, after }: RowChange): string => {
  const { id, typeName } = (after ?? before)!;
  const name = `${typeName} ${short(id)}`;
  if (!before) return `${name} created ${after!.status}`;
  if (!after) return `${name} deleted`;
  return before.status === after.status && before.leaseVersion === after.leaseVersion
    ? `${name} still ${describeRow(after)}`
    : `${name} ${before.status} → ${describeRow(after)}`;
};

const describeStep = ({ method, changes }: StoreStep): string =>
  changes.length === 0 ? method : `${method} (${changes.map(describeChange).join("; ")})`;

/** The line of an event in the timeline of a failure; undefined for events that do not help to find its cause. */
const describe = (event: HistoryEvent): string | undefined => {
  switch (event.kind) {
    case "applied": {
      const steps = event.steps.filter(
        ({ method, changes }) => changes.length > 0 && method !== "renewLeases",
      );
      return steps.length === 0 ? undefined : `${event.process} ${steps.map(describeStep).join(", ")}`;
    }
    case "rolled_back":
      return event.createdIds.length === 0
        ? undefined
        : `${event.process} rolled back the start of ${event.createdIds.map(short).join(", ")}`;
    case "anomaly":
      return `the store: ${event.description}`;
    case "acknowledged":
      return `${event.process} heard that the start succeeded of ${event.jobIds.map(short).join(", ")}`;
    case "start_refused":
      return `${event.process} was refused the start of ${event.jobIds.map(short).join(", ")}`;
    case "execution_started":
      return `${event.workerId} begins attempt ${event.attempt} of ${short(event.jobId)} (#${event.execution})`;
    case "execution_ended":
      return `#${event.execution} ${event.ending}${event.abortReason ? ` after its signal said ${event.abortReason}` : ""}`;
    case "fault":
      return `  ⚡ ${event.process ?? "everybody"}: ${event.description}`;
    case "worker_started":
      return `${event.workerId} started`;
    case "worker_stopped":
      return `${event.workerId} stopped`;
    case "calm":
      return "── calm: nothing goes wrong from here on ──";
    case "end":
      return event.drained ? "── drained ──" : "── not drained ──";
    case "slot_taken":
    case "slot_freed":
      return undefined;
  }
};

/** A run as text: a line an event, with each violation where it was noticed. */
export const formatTimeline = ({ plan, events, violations }: SimulationResult): string => {
  const start = events[0]?.at ?? 0;
  const line = (at: number, text: string): string =>
    `${String(Math.round(at - start)).padStart(8)} ms  ${text}`;
  const faults = Object.entries(plan.faults).map(([kind, strength]) => `${kind} ${strength}`);
  const lines = [
    `seed ${plan.seed}: lease ${plan.leaseMs} ms, ${plan.processes} processes × ${plan.workers.length} workers, ${plan.operations} operations`,
    `faults: ${faults.join(", ") || "none"}`,
  ];
  const remaining = [...violations];
  for (const event of events) {
    const text = describe(event);
    if (text !== undefined) lines.push(line(event.at, text));
    while (remaining.length > 0 && remaining[0]!.event === event) {
      const { invariant, message } = remaining.shift()!;
      lines.push(line(event.at, `✗✗ ${invariant}: ${message}`));
    }
  }
  return lines.join("\n");
};
