import { CliError } from "../cli-error.ts";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { plural } from "leasehold/adapter";
import type { Migrations, OpenedStore } from "../store/store.ts";

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
