import { createMongoStateProvider, createMongoStateAdapter } from "@leasehold/mongodb";
import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import { startPostgres } from "@leasehold/test-servers";
import { context, SpanKind, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineBlocker,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
} from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { MongoClient } from "mongodb";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { createTelemetry, registerContextManager } from "./testing/telemetry.ts";

const jobTypes = defineUnionJobTypes<{
  order: { input: null; output: DefineContinuationOutput<"ship"> };
  ship: {
    input: DefineContinuationInput<null>;
    output: string;
    blockers: [DefineBlocker<"pick">, DefineBlocker<"invoice">];
  };
  pick: { input: null; output: string };
  invoice: { input: null; output: string };
}>();

beforeAll(registerContextManager);

const contextIds = ({ traceId, spanId }: { traceId: string; spanId: string }): string =>
  `${traceId} ${spanId}`;

interface Store {
  readonly stateAdapter: AnyStateAdapter;
  destroy(): Promise<void>;
}

const openInProcess = async (): Promise<Store> => {
  const stateAdapter = createInProcessStateAdapter();
  return { stateAdapter, destroy: () => stateAdapter.close() };
};

const openPostgres = async (): Promise<Store> => {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const destroy = async (): Promise<void> => {
    await stateAdapter.close();
    await pool.end();
    await server.stop();
  };
  return { stateAdapter, destroy };
};

const openMongodb = async (): Promise<Store> => {
  const server = await startMongoTestServer();
  const client = new MongoClient(server.uri);
  const stateAdapter = await createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
  const destroy = async (): Promise<void> => {
    await stateAdapter.close();
    await client.close();
    await server.stop();
  };
  return { stateAdapter, destroy };
};

const stores = [
  ["the in-process store", openInProcess],
  ["PostgreSQL", openPostgres],
  ["MongoDB", openMongodb],
] as const;

describe.each(stores)("on %s", (_name, openStore) => {
  it("a request, its transaction, its job, the continuation and the blockers are one trace", async () => {
    const { adapter, spans, tracerProvider } = createTelemetry();
    const { stateAdapter, destroy } = await openStore();
    const leasehold = await createLeasehold({
      stateAdapter,
      notifyAdapter: createInProcessNotifyAdapter(),
      jobTypes,
      observabilityAdapter: adapter,
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "order",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) =>
            continueWith({
              typeName: "ship",
              startBlockers: async () => [
                await leasehold.startJobSequence({ typeName: "pick" }),
                await leasehold.startJobSequence({ typeName: "invoice" }),
              ],
            }),
          ),
      })
      .implementJobType({ typeName: "pick", process: async () => "picked" })
      .implementJobType({ typeName: "invoice", process: async () => "invoiced" })
      .implementJobType({
        typeName: "ship",
        process: async ({ job }) => job.blockers.map(({ output }) => output).join(" and "),
      })
      .start();

    // What an instrumentation of HTTP does: take the caller's context, and work in a span of the request.
    const propagator = new W3CTraceContextPropagator();
    const tracer = tracerProvider.getTracer("http");
    const server = createServer((request, response) => {
      const incoming = propagator.extract(context.active(), request.headers, {
        get: (headers, key) => headers[key],
        keys: Object.keys,
      });
      tracer.startActiveSpan("POST /orders", { kind: SpanKind.SERVER }, incoming, async (span) => {
        const { id } = await tracer.startActiveSpan("transaction", async (transaction) => {
          const started = await leasehold.runInTransaction((ctx) =>
            leasehold.startJobSequence({ ...ctx, typeName: "order" }),
          );
          transaction.end();
          return started;
        });
        response.end(id);
        span.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;

    const client = tracer.startSpan("checkout", { kind: SpanKind.CLIENT });
    const headers: Record<string, string> = {};
    propagator.inject(trace.setSpan(context.active(), client), headers, {
      set: (carrier, key, value) => {
        carrier[key] = value;
      },
    });
    const id = await new Promise<string>((resolve, reject) => {
      const request = httpRequest({ port, host: "127.0.0.1", method: "POST", headers }, (response) => {
        let body = "";
        response.on("data", (chunk) => (body += String(chunk)));
        response.on("end", () => resolve(body));
      });
      request.on("error", reject);
      request.end();
    });
    client.end();
    const finished = await leasehold.waitForJobSequenceCompletion({ id, typeName: "order" });
    expect(finished.output).toBe("picked and invoiced");
    await worker.stop();
    await new Promise((resolve) => server.close(resolve));
    await destroy();

    const named = (name: string): ReadableSpan => {
      const found = spans().filter((span) => span.name === name);
      expect(found, name).toHaveLength(1);
      return found[0]!;
    };
    const parentOf = (name: string): string | undefined => {
      const { parentSpanContext } = named(name);
      return spans().find((span) => span.spanContext().spanId === parentSpanContext?.spanId)?.name;
    };
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(spans()).toHaveLength(11);
    expect({
      "POST /orders": parentOf("POST /orders"),
      transaction: parentOf("transaction"),
      "start order": parentOf("start default/order"),
      "process order": parentOf("process default/order"),
      "continue ship": parentOf("continue default/ship"),
      "start pick": parentOf("start default/pick"),
      "start invoice": parentOf("start default/invoice"),
      "process pick": parentOf("process default/pick"),
      "process invoice": parentOf("process default/invoice"),
      "process ship": parentOf("process default/ship"),
    }).toEqual({
      "POST /orders": "checkout",
      transaction: "POST /orders",
      "start order": "transaction",
      "process order": "start default/order",
      "continue ship": "process default/order",
      "start pick": "continue default/ship",
      "start invoice": "continue default/ship",
      "process pick": "start default/pick",
      "process invoice": "start default/invoice",
      "process ship": "continue default/ship",
    });
    const links = named("process default/ship").links.map(({ context: linked, attributes }) => [
      attributes?.["leasehold.link"],
      contextIds(linked),
    ]);
    expect(links).toEqual([
      ["previous_job", contextIds(named("process default/order").spanContext())],
      ["blocker", contextIds(named("start default/pick").spanContext())],
      ["blocker", contextIds(named("start default/invoice").spanContext())],
    ]);
  }, 60_000);
});
