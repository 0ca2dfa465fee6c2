export { defineConfig, type LeaseholdConfig, type NamedStore, type StoreAdapters } from "./config/config.ts";

export { defineWorker, type WorkerContext } from "./config/config.ts";

export { createLiveView, type LiveView, type LiveViewOptions } from "./live/live-view.ts";

export type { Latency, LiveRow, LiveSample } from "./live/sampler.ts";

export type { CountedStatus, QueueNumbers, StatusNumbers } from "./store/numbers.ts";
