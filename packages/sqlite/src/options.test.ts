import { createLeasehold, defineUnionJobTypes, InvalidOptionError } from "leasehold";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SqliteFileOptions } from "./options.ts";
import { createSqliteStateAdapter } from "./state-adapter.ts";
import { createTestStore } from "./testing/store.ts";

const file = ":memory:";

const bad: [string, object][] = [
  ["options", null as never],
  ["flie", { flie: "jobs.db" }],
  ["file", {}],
  ["file", { file: "" }],
  ["file", { file: 1 }],
  ["file", { file: "a\0b" }],
  ["file", { file, stateProvider: {} }],
  ["file", { file: join(tmpdir(), "no", "such", "folder", "jobs.db") }],
  ["driver", { file, driver: "oracle" }],
  ["driver", { file, driver: "__proto__" }],
  ["idType", { file, idType: "INTEGER" }],
  ["idType", { file, idType: "TEXT); DROP TABLE users; --" }],
  ["idType", { file, idType: "BLOB" }],
  ["idType", { file, idType: "POINTTEXT" }],
  ["idGenerator", { file, idGenerator: "uuid" }],
  ["isTransientError", { file, isTransientError: true }],
  ["migrate", { file, migrate: "yes" }],
  ["maxWalBytes", { file, maxWalBytes: 1 }],
  ["connectionRetryConfig", { file, connectionRetryConfig: 5 }],
  ["connectionRetryConfig.maxWaitMs", { file, connectionRetryConfig: { maxWaitMs: -1 } }],
  ["connectionRetryConfig.maxDelayMs", { file, connectionRetryConfig: { maxDelayMs: Number.NaN } }],
  ["connectionRetryConfig.initialDelayMs", { file, connectionRetryConfig: { initialDelayMs: "1" } }],
];

describe("options", () => {
  it.each(bad)("refuses a bad %s: %j", async (option, options) => {
    const error = await createSqliteStateAdapter(options as SqliteFileOptions).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as InvalidOptionError).option).toBe(option);
  });

  it("uses the clock it is given", async () => {
    const { adapter, destroy } = await createTestStore({ clock: { now: () => 1_234 } });
    expect(await adapter.getTime()).toBe(1_234);
    await destroy();
  });

  it("gives new jobs the ids of its id generator", async () => {
    let last = 0;
    const { adapter, destroy } = await createTestStore({ idGenerator: () => `job-${(last += 1)}` });
    const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();
    const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes });
    expect((await leasehold.startJobSequence({ typeName: "work" })).id).toBe("job-1");
    await destroy();
  });

  it("asks the user which errors are transient, in addition to its own list", async () => {
    const { adapter, destroy } = await createTestStore({
      isTransientError: (error) => error instanceof RangeError,
    });
    expect(adapter.isTransientError(new RangeError())).toBe(true);
    expect(adapter.isTransientError(new TypeError())).toBe(false);
    expect(
      adapter.isTransientError(Object.assign(new Error("locked"), { code: "SQLITE_BUSY_SNAPSHOT" })),
    ).toBe(true);
    const busy = { code: "ERR_SQLITE_ERROR", errcode: 517 };
    expect(adapter.isTransientError(Object.assign(new Error("locked"), busy))).toBe(true);
    const constraint = { code: "SQLITE_CONSTRAINT_UNIQUE" };
    expect(adapter.isTransientError(Object.assign(new Error("taken"), constraint))).toBe(false);
    await destroy();
  });
});
