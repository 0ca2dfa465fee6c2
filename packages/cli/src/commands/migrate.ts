import { formatDuration, plural } from "leasehold/adapter";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { Migrations, OpenedStore } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";

const migrationsOf = ({ migrations, label }: OpenedStore): Migrations => {
  if (migrations !== undefined) return migrations;
  throw new CliError("NoMigrations", `The adapter of ${label} has no migrations.`);
};

export interface MigrateOptions {
  readonly dryRun: boolean;
}

export const migrate = async (context: CommandContext, { dryRun }: MigrateOptions): Promise<ExitCode> =>
  context.withStore({ create: !dryRun, migrated: false }, async (store) => {
    const { output } = context;
    const migrations = migrationsOf(store);
    const { pending } = await migrations.status();
    if (!dryRun && pending.length > 0) await migrations.migrate();
    const steps = pending.map(({ version, name }) => ({ version, name }));
    if (output.json) {
      output.printJson(dryRun ? { dryRun: true, pending } : { dryRun: false, applied: steps });
      return exitCodes.done;
    }
    if (pending.length === 0) output.note(`Nothing to do: ${store.label} is up to date.`);
    else if (dryRun) {
      output.note(`${plural(pending.length, "migration")} would be applied to ${store.label}:`);
      for (const { version, name, sql } of pending) {
        // That of MongoDB is for its shell, which speaks JavaScript.
        const comment = sql.startsWith("db.") ? "//" : "--";
        output.print(`${comment} ${version} ${name}\n${sql}`);
      }
    } else {
      for (const { version, name } of steps) output.print(`${output.colours.green("✓")} ${version} ${name}`);
      output.note(`${store.label} is up to date.`);
    }
    return exitCodes.done;
  });

export const migrateStatus = async (context: CommandContext): Promise<ExitCode> =>
  context.withStore({ migrated: false }, async (store) => {
    const { output } = context;
    const { colours } = output;
    const { applied, pending } = await migrationsOf(store).status();
    const steps = pending.map(({ version, name }) => ({ version, name }));
    if (output.json) output.printJson({ applied, pending: steps });
    else {
      for (const { version, name } of applied)
        output.print(`${colours.green("applied")}  ${version} ${name}`);
      for (const { version, name } of steps) output.print(`${colours.yellow("pending")}  ${version} ${name}`);
      if (steps.length > 0) output.note("Run `leasehold migrate`.");
    }
    return steps.length === 0 ? exitCodes.done : exitCodes.finding;
  });

export interface PruneOptions {
  readonly olderThan: number;
  readonly status?: readonly string[];
  readonly yes?: boolean;
}

const finished = ["completed", "failed"] as const;

const readStatuses = (given: readonly string[] = ["completed"]): (typeof finished)[number][] => {
  const wrong = given.find((status) => !finished.some((known) => known === status));
  if (wrong === undefined) return finished.filter((status) => given.includes(status));
  throw new CliError("Usage", `--status cannot be "${wrong}".`, {
    hint: "Only finished jobs can be pruned: completed, failed, or both.",
  });
};

/** Removes finished trees, as workers do by themselves where a retention is set. */
export const prune = async (
  context: CommandContext,
  { olderThan, status, yes }: PruneOptions,
): Promise<ExitCode> => {
  const statuses = readStatuses(status);
  return context.withStore({}, async ({ leasehold, label }) => {
    const { output } = context;
    const which = `${statuses.join(" and ")} for more than ${formatDuration(olderThan)}`;
    await confirm(output, `Delete all jobs of ${label} that have been ${which}?`, { yes });
    const { deletedJobs } = await leasehold.jobs.prune({ olderThanMs: olderThan, statuses });
    if (output.json) output.printJson({ deletedJobs });
    else output.print(`Deleted ${plural(deletedJobs, "job")}.`);
    return exitCodes.done;
  });
};
