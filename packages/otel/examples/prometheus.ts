// A worker whose metrics Prometheus can scrape: an HTTP server answers GET /metrics with the text format.
//
//   node packages/otel/examples/prometheus.ts     (Node 22.18 or later; needs `npm run build` first)
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
// #region setup
import { createOtelObservabilityAdapter } from "@leasehold/otel";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  greet: { input: { name: string }; output: { greeting: string } };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region setup
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const observabilityAdapter = createOtelObservabilityAdapter({ meter: meterProvider.getMeter("my-app") });

  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes, observabilityAdapter });
  const stopObserving = observabilityAdapter.observeStore(stateAdapter);

  const server = createServer((request, response) => {
    if (request.url === "/metrics") exporter.getMetricsRequestHandler(request, response);
    else response.writeHead(404).end();
  });
  // #endregion
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "greet",
      process: async ({ job }) => ({ greeting: `Hello, ${job.input.name}!` }),
    })
    .start({ workerId: "worker-1" });

  const started = await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
  await leasehold.waitForJobSequenceCompletion(started);
  await leasehold.startJobSequence({
    typeName: "greet",
    input: { name: "Grace" },
    schedule: { afterMs: 60_000 },
  });

  const { port } = server.address() as AddressInfo;
  const scrape = await fetch(`http://127.0.0.1:${port}/metrics`);
  print(await scrape.text());

  await worker.stop();
  stopObserving();
  await meterProvider.shutdown();
  await new Promise((resolve) => server.close(resolve));
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await main((text) => process.stdout.write(`${text}\n`));
