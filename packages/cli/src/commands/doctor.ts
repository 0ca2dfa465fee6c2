import { checkStore, type CheckResult, type CheckStatus } from "leasehold/doctor";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { Output } from "../output/output.ts";
import { hangingIndent, printable, wrap } from "../output/text.ts";
import { workerlessTypeNames } from "../store/find-job.ts";
import type { CommandContext } from "./context.ts";

export interface DoctorOptions {
  readonly stalledAfter: number;
  readonly transactionAge: number;
  readonly full: boolean;
  readonly repair: boolean;
  readonly strict: boolean;
}

/** The driver's message explains why a check failed. It may contain the address of the store. */
const withCause = (output: Output, { cause, ...finding }: CheckResult): CheckResult => ({
  ...finding,
  summary: output.redact(cause === undefined ? finding.summary : `${finding.summary.slice(0, -1)}: ${cause}`),
});

const nameWidth = 16;

const narrowest = 70;

const show = (output: Output, findings: readonly CheckResult[]): void => {
  const { colours } = output;
  const marks: Record<CheckStatus, string> = {
    ok: colours.green("✓"),
    warning: colours.yellow("!"),
    problem: colours.red("✗"),
  };
  // Where there is no room beside the names, the text goes below them.
  const isNarrow = output.columns < narrowest;
  const margin = isNarrow ? 2 : nameWidth + 3;
  const text = (content: string): string =>
    hangingIndent(wrap(printable(content), Math.max(20, output.columns - margin - 2)), margin);
  for (const { check, status, summary, advice } of findings) {
    const name = colours.bold(check.padEnd(isNarrow ? 0 : nameWidth));
    const between = isNarrow ? `\n${" ".repeat(margin)}` : " ";
    output.print(`${marks[status]} ${name}${between}${text(summary)}`);
    if (advice !== undefined) {
      output.print(`${" ".repeat(margin)}${colours.cyan("→")} ${hangingIndent(text(advice), 2)}`);
    }
  }
};

export const doctor = async (context: CommandContext, options: DoctorOptions): Promise<ExitCode> =>
  context.withStore({ migrated: false }, async (store, config) => {
    const { output } = context;
    const found = await checkStore(store.stateAdapter, {
      stalledMs: options.stalledAfter,
      transactionAgeMs: options.transactionAge,
      depth: options.full ? "full" : "usual",
      repair: options.repair,
      storeDeadlineMs: store.storeDeadlineMs,
      workerless: workerlessTypeNames(config?.config.jobTypes),
    });
    const findings = found.map((finding) => withCause(output, finding));
    const has = (status: CheckStatus): boolean => findings.some((finding) => finding.status === status);
    if (output.json) output.printJson({ store: store.label, findings });
    else show(output, findings);
    return has("problem") || (options.strict && has("warning")) ? exitCodes.finding : exitCodes.done;
  });
