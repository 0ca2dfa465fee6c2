import { batchSize } from "../settings.mjs";
import { createGraphileWorker } from "./graphile.mjs";

// The values behind the figures on https://worker.graphile.org/docs/performance
export const { install, openProducer, openWorker, prefill } = createGraphileWorker({
  batching: { localQueue: { size: batchSize }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  producerConnections: 10,
});
