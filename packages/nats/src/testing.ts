import type { NotifyAdapter } from "leasehold/adapter";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";
import type { NatsNotifyAdapterOptions } from "./options.ts";

/** Options of the notify adapter for tests. */
export type NatsTestNotifyAdapterOptions = Omit<NatsNotifyAdapterOptions, "subjectPrefix">;

/** A notify adapter with subjects of its own, so that tests can share a server and run at the same time. */
export const createNatsTestNotifyAdapter = (options: NatsTestNotifyAdapterOptions): Promise<NotifyAdapter> =>
  createNatsNotifyAdapter({ ...options, subjectPrefix: `leasehold-test-${crypto.randomUUID()}` });
