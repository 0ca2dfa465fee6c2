export type { NatsClient, NatsKv, NatsKvEntry, NatsMessage, NatsSubscription } from "./client.ts";

export { NatsUnavailableError } from "./client.ts";

export { NotifyTimeoutError } from "leasehold/adapter";

export { createNatsNotifyAdapter } from "./notify-adapter.ts";

export type { NatsNotifyAdapterOptions } from "./options.ts";
