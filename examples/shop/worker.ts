import { setTimeout as sleep } from "node:timers/promises";
import { type RunningWorker, UnrecoverableJobError } from "leasehold";
import type { Shop } from "./open-shop.ts";
import { approvalLimitCents } from "./place-order.ts";

const reviewAfterMs = 7 * 24 * 3_600_000;

/** Everything that a machine does in the shop. Nobody implements `approve-order`: that is for a person. */
export const startWorker = ({ leasehold }: Shop): Promise<RunningWorker> =>
  leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge-payment",
      process: async ({ job, signal }) => {
        await sleep(60 + (job.input.orderId % 7) * 25, undefined, { signal });
        const outages = job.input.orderId % 12 === 0 ? 2 : job.input.orderId % 6 === 0 ? 1 : 0;
        if (job.attempt <= outages) throw new Error("The payment provider answered 503.");
        // The job's id makes the charge safe to repeat: the provider would recognise it.
        return { receipt: `receipt-${job.id.slice(-6)}` };
      },
    })
    .implementJobType({
      typeName: "reserve-stock",
      process: async ({ job, complete }) => {
        await sleep(20 + (job.input.orderId % 3) * 10);
        if (job.input.orderId % 15 === 0 && job.attempt === 1)
          throw new Error("The scanner lost its connection.");
        return complete(({ client }) => {
          client
            .prepare("INSERT INTO shop_stock VALUES (?, 1) ON CONFLICT (item) DO UPDATE SET sold = sold + 1")
            .run(job.input.item);
          return { shelf: `shelf ${1 + (job.input.orderId % 12)}` };
        });
      },
    })
    .implementJobType({
      typeName: "order",
      process: async ({ job, complete }) =>
        complete(async ({ client, continueWith }) => {
          const [, stock] = job.blockers;
          client.prepare("UPDATE shop_order SET status = 'paid' WHERE id = ?").run(job.input.orderId);
          const input = { ...job.input, shelf: stock.output.shelf };
          return job.input.cents >= approvalLimitCents
            ? continueWith({ typeName: "approve-order", input })
            : continueWith({ typeName: "fulfil-order", input });
        }),
    })
    .implementJobType({
      typeName: "fulfil-order",
      process: async ({ job, signal, complete }) => {
        await sleep(120 + (job.input.orderId % 4) * 60, undefined, { signal });
        return complete(async ({ client, continueWith }) => {
          const { orderId, email } = job.input;
          client.prepare("UPDATE shop_order SET status = 'sent' WHERE id = ?").run(orderId);
          return continueWith({
            typeName: "send-email",
            input: { orderId, email, parcel: `parcel-${orderId}` },
          });
        });
      },
    })
    .implementJobType({
      typeName: "send-email",
      process: async ({ job, complete }) => {
        await sleep(40);
        if (job.input.email.endsWith("@mistyped.example")) {
          throw new UnrecoverableJobError(`550 There is no mailbox ${job.input.email}.`);
        }
        return complete(async (ctx) => {
          const { orderId } = job.input;
          // Only for the first customer, so that one job stays in the book for next week.
          if (orderId === 1) {
            await leasehold.startJobSequence({
              ...ctx,
              typeName: "ask-for-review",
              input: { orderId },
              schedule: { afterMs: reviewAfterMs },
            });
          }
          return { messageId: `mail-${job.id.slice(-6)}` };
        });
      },
    })
    .implementJobType({
      typeName: "daily-report",
      process: async ({ complete }) =>
        complete(({ client }) => {
          const row = client.prepare("SELECT count(*) AS orders FROM shop_order").get() as { orders: number };
          return { orders: row.orders };
        }),
    })
    .implementJobType({
      typeName: "count-stock",
      process: async ({ complete }) =>
        complete(({ client }) => {
          const row = client.prepare("SELECT coalesce(sum(sold), 0) AS sold FROM shop_stock").get();
          return row as { sold: number };
        }),
    })
    .implementJobType({ typeName: "ask-for-review", process: async () => null })
    .start({
      workerId: "shop",
      concurrency: 12,
      queues: { default: 4, payments: 4, warehouse: 4, mail: 4, office: 1 },
    });
