import type { Recurring } from "../../../store/contract/recurring.ts";
import type {
  DueRecurringJobs,
  NewRecurringJob,
  StateRecurringJob,
} from "../../../store/contract/recurring.ts";
import type { AnyStateAdapter } from "../../../store/contract/state-adapter.ts";
import { requirePart } from "../../../store/parts.ts";
import { baseTime } from "../../state-fixture.ts";

export const newRecurring = (overrides: Partial<NewRecurringJob> = {}): NewRecurringJob => ({
  id: "nightly",
  definition: '{"cron":"30 2 * * *"}',
  owner: null,
  paused: false,
  version: 1,
  nextNominalAt: baseTime,
  runsAt: baseTime,
  lastSequenceId: null,
  tickHistory: "{}",
  timeZoneVersion: "",
  computedAt: baseTime,
  ...overrides,
});

// oxlint-disable-next-line typescript/no-explicit-any -- the suites pass contexts on without looking into them
export const recurringOf = (adapter: AnyStateAdapter): Recurring<any> =>
  requirePart(adapter, "recurring", "The suite of recurring jobs");

export const put = (
  adapter: AnyStateAdapter,
  overrides: Partial<NewRecurringJob> = {},
  now: number = baseTime,
): Promise<StateRecurringJob> =>
  adapter.runInTransaction(async (ctx) => {
    const job = newRecurring(overrides);
    await recurringOf(adapter).lockRecurring({ ctx, ids: [job.id], now });
    const [stored] = await recurringOf(adapter).putRecurring({ ctx, jobs: [job], now });
    return stored!;
  });

export const lockDue = (
  adapter: AnyStateAdapter,
  options: { readonly now?: number; readonly limit?: number; readonly timeZoneVersion?: string | null } = {},
): Promise<DueRecurringJobs> =>
  adapter.runInTransaction((ctx) =>
    recurringOf(adapter).lockDueRecurring({
      ctx,
      limit: 100,
      timeZoneVersion: null,
      now: baseTime,
      ...options,
    }),
  );
