import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import { createLeasehold, defineUnionJobTypes, InvalidOptionError } from "leasehold";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocumentTooLargeError } from "./database/errors.ts";
import { createMongoStateProvider } from "./database/provider.ts";
import { createMongoStateAdapter } from "./state-adapter.ts";
import { claimSome, completion, newJob, renewal } from "./testing/jobs.ts";

// Nobody listens there: whatever is refused is refused before a connection is made.
const unreachable = new MongoClient("mongodb://127.0.0.1:1/?replicaSet=none", {
  serverSelectionTimeoutMS: 20,
});

const stateProvider = createMongoStateProvider({ client: unreachable });

const bad: [string, object][] = [
  ["options", null as never],
  ["colectionPrefix", { stateProvider, colectionPrefix: "x_" }],
  ["stateProvider", {}],
  ["stateProvider", { stateProvider: { client: unreachable } }],
  ["collectionPrefix", { stateProvider, collectionPrefix: "a$b" }],
  ["collectionPrefix", { stateProvider, collectionPrefix: "x".repeat(61) }],
  ["idGenerator", { stateProvider, idGenerator: "uuid" }],
  ["isTransientError", { stateProvider, isTransientError: true }],
  ["migrate", { stateProvider, migrate: "yes" }],
  ["connectionRetryConfig", { stateProvider, connectionRetryConfig: 5 }],
  ["connectionRetryConfig.maxAttempts", { stateProvider, connectionRetryConfig: { maxAttempts: 0 } }],
  ["connectionRetryConfig.initialDelayMs", { stateProvider, connectionRetryConfig: { initialDelayMs: -1 } }],
  ["connectionRetryConfig.maxDelayMs", { stateProvider, connectionRetryConfig: { maxDelayMs: 2 ** 40 } }],
];

describe("options", () => {
  it.each(bad)("refuses a bad %s: %#", async (option, options) => {
    const error = await createMongoStateAdapter(options as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as InvalidOptionError).option).toBe(option);
  });

  it("tries to connect as often as it is told", async () => {
    let tries = 0;
    const counting = {
      ...stateProvider,
      getDatabase: () =>
        new Proxy(stateProvider.getDatabase(), {
          get: (target, name) => {
            if (name === "collection") return () => ({ db: { client: unreachable, command } });
            return Reflect.get(target, name) as unknown;
          },
        }),
    };
    const command = async (): Promise<never> => {
      tries += 1;
      throw Object.assign(new Error("not yet"), { name: "MongoServerSelectionError" });
    };
    const connectionRetryConfig = { maxAttempts: 3, initialDelayMs: 1, maxDelayMs: 2 };
    await expect(createMongoStateAdapter({ stateProvider: counting, connectionRetryConfig })).rejects.toThrow(
      "not yet",
    );
    expect(tries).toBe(3);
  });
});

describe("on a server", () => {
  let stop: () => Promise<void>;
  let client: MongoClient;
  beforeAll(async () => {
    const server = await startMongoTestServer();
    client = new MongoClient(server.uri);
    stop = () => server.stop();
  });
  afterAll(async () => {
    await client.close();
    await stop();
  });
  let databases = 0;
  const open = (options: object = {}) => {
    const provider = createMongoStateProvider({ client, database: `options_${++databases}` });
    return createMongoStateAdapter({ stateProvider: provider, ...options });
  };

  it("gives new jobs the ids of its id generator", async () => {
    let last = 0;
    const adapter = await open({ idGenerator: () => `job-${(last += 1)}` });
    const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();
    const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes });
    expect((await leasehold.startJobSequence({ typeName: "work" })).id).toBe("job-1");
    await leasehold.close();
  });

  it("keeps stores of different prefixes apart", async () => {
    const [one, two] = [await open({ collectionPrefix: "one_" }), await open({ collectionPrefix: "two_" })];
    await one.createJobs({ jobs: [newJob()] });
    expect(await claimSome(two, 1)).toEqual([]);
    expect(await claimSome(one, 1)).toHaveLength(1);
  });

  it("asks the user which errors are transient, in addition to its own list", async () => {
    const adapter = await open({ isTransientError: (error: unknown) => error instanceof RangeError });
    expect(adapter.isTransientError(new RangeError())).toBe(true);
    expect(adapter.isTransientError(new TypeError())).toBe(false);
    const serverError = (code: number) =>
      Object.assign(new Error("server"), { name: "MongoServerError", code });
    expect(adapter.isTransientError(serverError(91))).toBe(true);
    expect(adapter.isTransientError(new Error("wrapped", { cause: serverError(112) }))).toBe(true);
    expect(adapter.isTransientError(serverError(11_000))).toBe(false);
    expect(adapter.isConflictRollback(new Error("wrapped", { cause: serverError(112) }))).toBe(true);
    expect(adapter.isConflictRollback(serverError(91))).toBe(false);
  });

  it("can be migrated again, by many at once, while jobs are worked on", async () => {
    const adapter = await open();
    await adapter.createJobs({ jobs: [newJob()] });
    await Promise.all([adapter.migrate(), adapter.migrate(), adapter.migrateToLatest()]);
    expect(await claimSome(adapter, 1)).toHaveLength(1);
    expect((await adapter.migrationStatus()).pending).toEqual([]);
  });

  it("leaves a job alone whose id is given again", async () => {
    const adapter = await open();
    await adapter.createJobs({ jobs: [newJob({ id: "one" })] });
    const [job] = await claimSome(adapter, 1);
    await expect(adapter.createJobs({ jobs: [newJob({ id: "one", input: "2" })] })).rejects.toMatchObject({
      code: "JobAlreadyExists",
      ids: ["one"],
    });
    expect(await adapter.getJobs({ jobIds: ["one"] })).toEqual([job]);
  });

  it("refuses what no document can hold, with an error that says so, and changes nothing", async () => {
    const adapter = await open();
    const tooMuch = "x".repeat(16 * 1024 * 1024);
    await expect(adapter.createJobs({ jobs: [newJob({ id: "large", input: tooMuch })] })).rejects.toThrow(
      DocumentTooLargeError,
    );
    await expect(adapter.createJobs({ jobs: [newJob(), newJob({ input: tooMuch })] })).rejects.toMatchObject({
      code: "DocumentTooLarge",
      maxBytes: 15 * 1024 * 1024,
    });
    expect(await adapter.countJobs({ filter: {} })).toEqual([]);

    await adapter.createJobs({ jobs: [newJob({ input: "x".repeat(8 * 1024 * 1024) })] });
    const [job] = await claimSome(adapter, 1);
    const outcomes = [completion(job!, "y".repeat(8 * 1024 * 1024))];
    await expect(adapter.commitOutcomes({ outcomes })).rejects.toThrow(DocumentTooLargeError);
    expect(await adapter.renewLeases({ leases: [renewal(job!)] })).toMatchObject([{ kind: "renewed" }]);
    expect(await adapter.commitOutcomes({ outcomes: [completion(job!)] })).toMatchObject([
      { kind: "applied" },
    ]);
  });

  it("forgets a deduplication key with its last sequence", async () => {
    const adapter = await open();
    const keys = client.db(`options_${databases}`).collection("leasehold_keys");
    const deduplication = { key: "once", scope: "all", windowMs: 0 } as const;
    const count = () => keys.countDocuments({ _id: { $regex: "once$" } as never });
    const ids = ["first", "second"];
    for (const id of ids) await adapter.createJobs({ jobs: [newJob({ id, deduplication })] });
    expect(await count()).toBe(1);
    await adapter.deleteSequences({ rootSequenceIds: ["first"] });
    expect(await count()).toBe(1);
    const [job] = await claimSome(adapter, 1);
    await adapter.commitOutcomes({ outcomes: [completion(job!)] });
    const rules = [{ sequenceTypeNames: null, completedBefore: Date.now() + 60_000, failedBefore: null }];
    expect(await adapter.pruneSequences({ rules, limit: 5, after: null })).toMatchObject({ deletedJobs: 1 });
    expect(await count()).toBe(0);
  });

  it("lets exactly one of the concurrent starts of several processes with the same key create a job", async () => {
    const database = `options_${++databases}`;
    const provider = createMongoStateProvider({ client, database });
    const adapters = await Promise.all(
      Array.from({ length: 4 }, () => createMongoStateAdapter({ stateProvider: provider })),
    );
    const deduplication = { key: "once", scope: "unfinished", windowMs: null } as const;
    const created = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        adapters[n % 4]!.createJobs({ jobs: [newJob({ deduplication })] }),
      ),
    );
    expect(created.flat().filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(new Set(created.flat().map(({ job }) => job.id)).size).toBe(1);
  });
});
