import { plural } from "../output/amounts.ts";
import { oneLine } from "../output/printable.ts";
import type { OpenedStore } from "../store/store.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const nameOf = (counter: {
  readonly queue: string;
  readonly typeName: string | null;
  readonly group: string | null;
}): string =>
  [counter.queue, counter.typeName, counter.group]
    .filter((name) => name !== null)
    .map((name) => oneLine(name))
    .join(" / ");

/** Whether limits count what runs, and what is paused or stopped. */
export const checkFlow = async (
  { leasehold, stateAdapter }: OpenedStore,
  { repair }: { readonly repair: boolean },
): Promise<readonly Finding[]> => {
  const { flow } = stateAdapter;
  if (flow === undefined) return [];
  const findings: Finding[] = [];
  const { counters } = await flow.checkFlow({ repair });
  const [first] = counters;
  if (first !== undefined) {
    const what = `${plural(counters.length, "counter")} of limits did not match the running jobs, such as ${nameOf(first)}: ${first.was} counted, ${first.is} running.`;
    findings.push(
      repair
        ? ok("limits", `${what} Set right.`)
        : problem("limits", what, "Run `leasehold doctor --repair`, and report how it came about."),
    );
  }
  const rules = await leasehold.getFlow();
  if (rules.length === 0) return findings;
  const paused = rules.filter((state) => state.paused);
  if (paused.length > 0) {
    const names = paused.slice(0, 5).map((state) => nameOf({ ...state, group: null }));
    findings.push(
      warning("limits", `Paused: ${names.join(", ")}.`, "If that is over, run `leasehold resume`."),
    );
  }
  return findings.length > 0 ? findings : [ok("limits", "Limits count what runs, and nothing is paused.")];
};
