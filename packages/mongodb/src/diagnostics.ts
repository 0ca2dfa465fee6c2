import { finding, type CheckResult, formatDuration, plural, tryCheck } from "leasehold/adapter";
import type { Db } from "mongodb";
import type { MongoMigrationStatus } from "./migrate.ts";

export interface DiagnosticsContext {
  readonly database: Db;
  migrationStatus(): Promise<MongoMigrationStatus>;
}

const oldestVersion = [4, 2] as const;

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]);
};

const checkServer = async ({ database }: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const hello = await database.command({ hello: 1 });
  const version = String((await database.command({ buildInfo: 1 }))["version"]);
  if (hello["msg"] === "isdbgrid") {
    return [
      finding.warning(
        "server",
        `MongoDB ${version}, a sharded cluster.`,
        "Leasehold has not been tested on one: use a replica set, or one per group of queues.",
      ),
    ];
  }
  const setName = hello["setName"];
  if (typeof setName !== "string") {
    return [
      finding.problem(
        "server",
        "This server belongs to no replica set, so it has no transactions.",
        "Make it one, with rs.initiate() in MongoDB's shell; one member is enough.",
      ),
    ];
  }
  if (isOld(version)) {
    const advice = `Update it to ${oldestVersion.join(".")} or later: claims need updates with a pipeline.`;
    return [finding.problem("server", `This is MongoDB ${version}.`, advice)];
  }
  const count = (name: string): number => (Array.isArray(hello[name]) ? hello[name].length : 0);
  const members = count("hosts") + count("passives") + count("arbiters");
  const text = `MongoDB ${version}, replica set ${setName} with ${plural(members, "member")}.`;
  return count("arbiters") === 0
    ? [finding.ok("server", text)]
    : [
        finding.warning(
          "server",
          `${text} ${count("arbiters")} of them only vote.`,
          "When a member with data is down, writes may find no majority, and jobs stand still: use members with data instead.",
        ),
      ];
};

const usualLifetimeMs = 60_000;

/** A process that dies within a transaction holds its jobs until the server gives the transaction up. */
const checkTransactionLifetime = async ({
  database,
}: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const name = "transactionLifetimeLimitSeconds";
  const lifetimeMs = Number((await database.admin().command({ getParameter: 1, [name]: 1 }))[name]) * 1_000;
  const text = `A transaction may stay open for ${formatDuration(lifetimeMs)}.`;
  return lifetimeMs <= usualLifetimeMs
    ? [finding.ok("transactions", text)]
    : [
        finding.warning(
          "transactions",
          `${text} For so long a process that dies in one can hold its jobs.`,
          `Set ${name} to ${usualLifetimeMs / 1_000}, the default, or less.`,
        ),
      ];
};

/** There is nothing to migrate but indexes. Without any there are no collections yet. */
const judgeIndexes = ({ applied, pending }: MongoMigrationStatus): CheckResult[] => {
  if (applied.length === 0)
    return [
      finding.problem(
        "migrations",
        `${plural(pending.length, "migration")} pending.`,
        "Run `leasehold migrate`.",
      ),
    ];
  return [
    finding.ok("migrations", "The collections are there."),
    pending.length === 0
      ? finding.ok("indexes", `All ${applied.length} indexes are there.`)
      : finding.problem(
          "indexes",
          `Missing: ${pending.map(({ name }) => name).join(", ")}. Claims and lists get slow with the number of jobs.`,
          "Run `leasehold migrate`: it makes what is missing.",
        ),
  ];
};

export const runChecks = async (examined: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const schema = await tryCheck("migrations", async () => judgeIndexes(await examined.migrationStatus()));
  return [
    ...schema.filter(({ check }) => check === "migrations"),
    ...(await tryCheck("server", () => checkServer(examined))),
    ...(await tryCheck("transactions", () => checkTransactionLifetime(examined))),
    ...schema.filter(({ check }) => check !== "migrations"),
  ];
};
