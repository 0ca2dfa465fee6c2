import type { Finding, FlowRepair, FlowScope } from "../contracts/state-adapter.ts";
import { plural } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";
import type { Facts } from "./facts.ts";
import { onOneLine } from "./on-one-line.ts";

const nameOf = (names: readonly (string | null)[]): string =>
  names
    .filter((name) => name !== null)
    .map((name) => onOneLine(name))
    .join(" / ");

export interface FlowCheckOptions {
  /** Whether to compare counters with the running jobs, for which claims have to wait a moment. */
  readonly counts: boolean;
  /** Whether to set them right. */
  readonly repair: boolean;
}

const judgeCounters = ({ counters }: FlowRepair, repair: boolean): Finding[] => {
  const [first] = counters;
  if (first === undefined) return [];
  const name = nameOf([first.queue, first.typeName, first.group]);
  const what = `${plural(counters.length, "counter")} of limits did not match the running jobs, such as ${name}: ${first.was} counted, ${first.is} running.`;
  return [
    repair
      ? finding.ok("limits", `${what} Set right.`)
      : finding.problem("limits", what, "Run `leasehold doctor --repair`, and report how it came about."),
  ];
};

/** The queues and types that somebody has paused. */
export const findPauses = async (facts: Facts): Promise<FlowScope[]> =>
  (await facts.rules())
    .filter(({ rule }) => rule.paused)
    .map(({ rule }) => ({ queue: rule.queue, typeName: rule.typeName }));

/** Whether limits count what runs, and what is paused. */
export const checkFlow = async (
  facts: Facts,
  { counts, repair }: FlowCheckOptions,
): Promise<readonly Finding[]> => {
  const { flow } = facts.store;
  if (flow === undefined) return [];
  const findings = counts ? judgeCounters(await flow.checkFlow({ repair }), repair) : [];
  if ((await facts.rules()).length === 0) return findings;
  const paused = await findPauses(facts);
  if (paused.length > 0) {
    const names = paused.slice(0, 5).map(({ queue, typeName }) => nameOf([queue, typeName]));
    findings.push(
      finding.warning("limits", `Paused: ${names.join(", ")}.`, "If that is over, run `leasehold resume`."),
    );
  }
  if (findings.length > 0) return findings;
  const text = counts ? "Limits count what runs, and nothing is paused." : "Nothing is paused.";
  return [finding.ok("limits", text)];
};
