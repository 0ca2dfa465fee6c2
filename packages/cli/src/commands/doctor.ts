import type { CommandContext } from "../command-context.ts";
import type { FoundConfig } from "../config/find-config.ts";
import { checkClock } from "../doctor/clock.ts";
import { attempt, type Finding, type FindingStatus } from "../doctor/finding.ts";
import { checkFailures, checkLeases, checkQueues, checkRetention } from "../doctor/jobs.ts";
import { checkFlow } from "../doctor/flow.ts";
import { checkMigrations } from "../doctor/migrations.ts";
import { checkMongodb } from "../doctor/mongodb.ts";
import { checkPostgres } from "../doctor/postgres.ts";
import { checkRecurringJobs } from "../doctor/recurring.ts";
import { checkSqlite } from "../doctor/sqlite.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import type { Output } from "../output/output.ts";
import { hangingIndent, printable, wrap } from "../output/printable.ts";
import { workerlessTypeNames } from "../store/job-type-names.ts";
import type { OpenedStore } from "../store/store.ts";

export interface DoctorOptions {
  readonly stalledAfter: number;
  readonly transactionAge: number;
  readonly full: boolean;
  readonly repair: boolean;
  readonly strict: boolean;
}

const examine = async (
  store: OpenedStore,
  options: DoctorOptions,
  found: FoundConfig | undefined,
): Promise<Finding[]> => {
  const { database } = store;
  const workerless = workerlessTypeNames(found?.config.jobTypes);
  const findings = [...(await attempt("clock", () => checkClock(store)))];
  const migrations = await attempt("migrations", () => checkMigrations(store));
  findings.push(...migrations);
  if (database?.kind === "postgres") findings.push(...(await checkPostgres(database, options)));
  if (database?.kind === "sqlite") findings.push(...(await checkSqlite(database, options)));
  if (database?.kind === "mongodb") findings.push(...(await checkMongodb(database, store)));
  // Without tables there are no jobs to look at.
  if (migrations.some(({ status }) => status === "problem")) return findings;
  findings.push(
    ...(await attempt("leases", () => checkLeases(store))),
    ...(await attempt("queues", () => checkQueues(store, { stalledMs: options.stalledAfter, workerless }))),
    ...(await attempt("failures", () => checkFailures(store))),
    ...(await attempt("limits", () => checkFlow(store, { repair: options.repair }))),
    ...(await attempt("recurring jobs", () => checkRecurringJobs(store))),
    ...(await attempt("retention", () => checkRetention(store))),
  );
  return findings;
};

const nameWidth = 16;
const narrowest = 70;

const show = (output: Output, findings: readonly Finding[]): void => {
  const { colours } = output;
  const marks: Record<FindingStatus, string> = {
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
  context.withStore({ migrated: false }, async (store, found) => {
    const { output } = context;
    // If a check fails, the message of the driver says why.
    const findings = (await examine(store, options, found)).map((finding) => ({
      ...finding,
      summary: output.redact(finding.summary),
    }));
    const has = (status: FindingStatus): boolean => findings.some((finding) => finding.status === status);
    if (output.json) output.printJson({ store: store.label, findings });
    else show(output, findings);
    return has("problem") || (options.strict && has("warning")) ? exitCodes.finding : exitCodes.done;
  });
