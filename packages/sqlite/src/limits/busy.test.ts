import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestStore, openRaw, type TestStore } from "../testing/store.ts";

const jobTypes = defineUnionJobTypes<{ mail: { input: null; output: null } }>();

const inAnHour = { afterMs: 3_600_000 } as const;

let store: TestStore;

beforeEach(async () => {
  // Each try gives up soon, so that the lock outlasts it.
  store = await createTestStore({ connectionRetryConfig: { maxWaitMs: 20 } });
});

afterEach(() => store.destroy());

const open = async (onError: (data: { operation: string; error: unknown }) => void) =>
  createLeasehold({
    stateAdapter: store.adapter,
    jobTypes,
    statistics: false,
    observabilityAdapter: { stateAdapterError: onError },
  });

type App = Awaited<ReturnType<typeof open>>;

const calls: Readonly<Record<string, (leasehold: App) => Promise<unknown>>> = {
  "limits.set": ({ limits }) => limits.set({ typeName: "mail", concurrency: 3 }),
  "limits.pause": ({ limits }) => limits.pause({ typeName: "mail" }),
  "limits.resume": ({ limits }) => limits.resume({ typeName: "mail" }),
  "limits.resume of a group": ({ limits }) => limits.resume({ typeName: "mail", group: "acme" }),
  "limits.set in a transaction": (leasehold) =>
    leasehold.runInTransaction((ctx) =>
      leasehold.limits.set({ ...ctx, queue: "default", rate: { limit: 1, perMs: 1_000 } }),
    ),
  "recurring.pause": ({ recurring }) => recurring.pause({ id: "hourly" }),
  "recurring.resume": ({ recurring }) => recurring.resume({ id: "hourly" }),
  // As a comparison.
  startJobSequence: (leasehold) => leasehold.startJobSequence({ typeName: "mail", schedule: inAnHour }),
};

it.each(Object.keys(calls))(
  "%s is tried again after another connection kept the lock too long",
  async (name) => {
    let release = (): void => {};
    const failures: unknown[] = [];
    const leasehold = await open(({ error }) => {
      failures.push(error);
      release();
    });
    await leasehold.recurring.put({ id: "hourly", everyMs: 3_600_000, job: { typeName: "mail" } });
    const other = await openRaw(store.file);
    other.exec("BEGIN IMMEDIATE");
    release = () => {
      release = () => {};
      other.exec("COMMIT");
    };

    await calls[name]!(leasehold);

    expect(failures).toMatchObject([{ code: "SqliteBusy" }]);
    other.close();
    await leasehold.close();
  },
);
