import { createGraphileWorker } from "./graphile.mjs";

export const { install, openProducer, openWorker, prefill } = createGraphileWorker({
  batching: {},
  producerConnections: 10,
});
