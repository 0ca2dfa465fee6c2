import { formatDuration, plural } from "../output/amounts.ts";
import type { Database, OpenedStore } from "../store/store.ts";
import { attempt, type Finding, ok, problem, warning } from "./finding.ts";

type Mongodb = Extract<Database, { readonly kind: "mongodb" }>;

const oldestVersion = [4, 2] as const;

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]);
};

const checkServer = async (database: Mongodb): Promise<readonly Finding[]> => {
  const hello = await database.command({ hello: 1 });
  const version = String((await database.command({ buildInfo: 1 }))["version"]);
  if (hello["msg"] === "isdbgrid") {
    return [
      warning(
        "server",
        `MongoDB ${version}, a sharded cluster.`,
        "Leasehold has not been tested on one: use a replica set, or one per group of queues.",
      ),
    ];
  }
  const setName = hello["setName"];
  if (typeof setName !== "string") {
    return [
      problem(
        "server",
        "This server belongs to no replica set, so it has no transactions.",
        "Make it one, with rs.initiate() in MongoDB's shell; one member is enough.",
      ),
    ];
  }
  if (isOld(version)) {
    const advice = `Update it to ${oldestVersion.join(".")} or later: claims need updates with a pipeline.`;
    return [problem("server", `This is MongoDB ${version}.`, advice)];
  }
  const count = (name: string): number => (Array.isArray(hello[name]) ? hello[name].length : 0);
  const members = count("hosts") + count("passives") + count("arbiters");
  const text = `MongoDB ${version}, replica set ${setName} with ${plural(members, "member")}.`;
  return count("arbiters") === 0
    ? [ok("server", text)]
    : [
        warning(
          "server",
          `${text} ${count("arbiters")} of them only vote.`,
          "When a member with data is down, writes may find no majority, and jobs stand still: use members with data instead.",
        ),
      ];
};

const usualLifetimeMs = 60_000;

/** A process that dies within a transaction holds its jobs until the server gives the transaction up. */
const checkTransactionLifetime = async (database: Mongodb): Promise<readonly Finding[]> => {
  const name = "transactionLifetimeLimitSeconds";
  const lifetimeMs = Number((await database.adminCommand({ getParameter: 1, [name]: 1 }))[name]) * 1_000;
  const text = `A transaction may stay open for ${formatDuration(lifetimeMs)}.`;
  return lifetimeMs <= usualLifetimeMs
    ? [ok("transactions", text)]
    : [
        warning(
          "transactions",
          `${text} For so long a process that dies in one can hold its jobs.`,
          `Set ${name} to ${usualLifetimeMs / 1_000}, the default, or less.`,
        ),
      ];
};

const checkIndexes = async ({ migrations }: OpenedStore): Promise<readonly Finding[]> => {
  const { applied = [], pending = [] } = (await migrations?.status()) ?? {};
  // Then there are no collections yet, which is reported as such.
  if (applied.length === 0) return [];
  return pending.length === 0
    ? [ok("indexes", `All ${applied.length} indexes are there.`)]
    : [
        problem(
          "indexes",
          `Missing: ${pending.map(({ name }) => name).join(", ")}. Claims and lists get slow with the number of jobs.`,
          "Run `leasehold migrate`: it makes what is missing.",
        ),
      ];
};

export const checkMongodb = async (database: Mongodb, store: OpenedStore): Promise<readonly Finding[]> => [
  ...(await attempt("server", () => checkServer(database))),
  ...(await attempt("transactions", () => checkTransactionLifetime(database))),
  ...(await attempt("indexes", () => checkIndexes(store))),
];
