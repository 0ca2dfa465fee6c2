import {
  createLeasehold,
  type DefineBlocker,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
} from "leasehold";
import { createDeterministicRuntime } from "leasehold/testing";
import type { ShopWithPast } from "../shop-with-past.ts";

interface OrderTypes {
  order: {
    input: { orderId: number; item: string; cents: number; email: string };
    output: DefineContinuationOutput<"fulfil-order">;
    blockers: [DefineBlocker<"take-payment">, DefineBlocker<"pick-item">];
  };
  "take-payment": { input: { orderId: number; cents: number }; output: { receipt: string } };
  "pick-item": { input: { orderId: number; item: string }; output: { shelf: string } };
  "fulfil-order": {
    input: DefineContinuationInput<{ orderId: number; shelf: string }>;
    output: DefineContinuationOutput<"send-receipt">;
  };
  "send-receipt": { input: DefineContinuationInput<{ orderId: number }>; output: { messageId: string } };
  "print-invoice": {
    input: { orderId: number; email: string; cents: number; printer: object };
    output: null;
  };
  "count-stock": { input: { shelf: string }; output: null };
}

/** As if it came from a program in `/app`, wherever the tests are. */
const printerError = (attempt: number): Error => {
  const cause = Object.assign(new Error("connect ECONNREFUSED 10.0.4.12:631"), { code: "ECONNREFUSED" });
  cause.stack = `Error: ${cause.message}\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)`;
  const error = Object.assign(new Error(`The printer did not answer, attempt ${attempt}`, { cause }), {
    name: "PrinterError",
  });
  error.stack = `PrinterError: ${error.message}
    at printPage (/app/src/printer.ts:41:11)
    at printInvoice (/app/src/invoices.ts:18:5)
    at async retry (/app/node_modules/p-retry/index.js:52:14)`;
  return error;
};

/** An order whose parcel is being packed, and an invoice that could not be printed. Returns the id of both roots. */
export const placeOrder = async ({
  stateAdapter,
  clock,
}: ShopWithPast): Promise<{ readonly orderId: string; readonly invoiceId: string }> => {
  const runtime = createDeterministicRuntime({ seed: "order", clock });
  const jobTypes = defineUnionJobTypes<OrderTypes>({
    order: { queue: "orders" },
    "take-payment": { queue: "payments" },
    "pick-item": { queue: "warehouse" },
    "fulfil-order": { queue: "warehouse" },
    "send-receipt": { queue: "mail" },
    "print-invoice": { queue: "orders", retry: { type: "fixed", delayMs: 4_000 } },
    "count-stock": { queue: "warehouse" },
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, deployment: "7f3c2a1", runtime });
  const work = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms));
  const worker = leasehold
    .createWorker()
    .implementJobType({
      typeName: "take-payment",
      process: async () => {
        await work(1_800);
        return { receipt: "R-20417" };
      },
    })
    .implementJobType({
      typeName: "pick-item",
      process: async () => {
        await work(400);
        return { shelf: "B-07" };
      },
    })
    .implementJobType({
      typeName: "count-stock",
      process: async () => {
        await work(250);
        return null;
      },
    })
    .implementJobType({
      typeName: "order",
      process: async ({ job, complete }) => {
        const { orderId } = job.input;
        await work(300);
        return complete(async ({ continueWith }) =>
          continueWith({ typeName: "fulfil-order", input: { orderId, shelf: "B-07" } }),
        );
      },
    })
    .implementJobType({
      typeName: "print-invoice",
      process: async ({ job, log }) => {
        log("Looking for a printer");
        await work(800 * job.attempt);
        throw printerError(job.attempt);
      },
    })
    .implementJobType({
      typeName: "fulfil-order",
      process: async ({ job, complete, reportProgress }) => {
        await reportProgress({ packed: 2, of: 3 });
        await leasehold.startJobSequence({ typeName: "count-stock", input: { shelf: "B-07" } });
        await work(600_000);
        return complete(async ({ continueWith }) =>
          continueWith({ typeName: "send-receipt", input: { orderId: job.input.orderId } }),
        );
      },
    });
  await clock.runUntil(
    worker.start({ workerId: "shop-orders", queues: { orders: 2, payments: 2, warehouse: 2 } }),
  );
  const orderId = 20_417;
  const invoice = await leasehold.startJobSequence({
    typeName: "print-invoice",
    input: {
      orderId: 20_398,
      email: "ada@example.com",
      cents: 12_500,
      printer: { host: "10.0.4.12", apiKey: "k-7f31" },
    },
    maxAttempts: 3,
  });
  for (let second = 0; second < 16; second += 1) await clock.advanceBy(1_000);
  const { id } = await leasehold.startJobSequence({
    typeName: "order",
    input: { orderId, item: "tea pot", cents: 4_900, email: "grace@example.com" },
    startBlockers: async () => [
      await leasehold.startJobSequence({ typeName: "take-payment", input: { orderId, cents: 4_900 } }),
      await leasehold.startJobSequence({ typeName: "pick-item", input: { orderId, item: "tea pot" } }),
    ],
  });
  for (let second = 0; second < 8; second += 1) await clock.advanceBy(1_000);
  return { orderId: id, invoiceId: invoice.id };
};
