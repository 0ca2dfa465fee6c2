import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  UnrecoverableJobError,
} from "leasehold";
import { createDeterministicRuntime, createManualClock } from "leasehold/testing";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { clientOf } from "./open-shop.ts";

interface Types {
  "charge-payment": { input: number; output: null };
  "reserve-stock": { input: number; output: null };
  "send-email": { input: number; output: null };
  "render-report": { input: number; output: null };
}

const minute = 60_000;

export interface Past {
  /** How long the shop has been open. */
  readonly minutes?: number;
  /** When a deployment came that sends mails slowly and fails with some of them. */
  readonly newAfter?: number;
}

/** As if it came from a program in `/app`, wherever the tests are. */
const failure = (message: string, frame: string): UnrecoverableJobError => {
  const error = new UnrecoverableJobError(message);
  error.stack = `${error.name}: ${message}\n    at ${frame}`;
  return error;
};

export type ShopWithPast = Awaited<ReturnType<typeof openShopWithPast>>;

/**
 * A shop that has been open for an hour, on a clock that stands still at 13:44. The same jobs every time: those of the queue
 * `mail` wait longer and longer since the last deployment.
 */
export const openShopWithPast = async ({ minutes = 60, newAfter = 36 }: Past = {}) => {
  const clock = createManualClock({ startAt: Date.UTC(2026, 2, 3, 13, 44) - minutes * minute });
  const stateAdapter = createInProcessStateAdapter({ clock });
  const jobTypes = defineUnionJobTypes<Types>();
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms));

  const deploy = async (deployment: string, { mailMs, broken }: { mailMs: number; broken: boolean }) => {
    const runtime = createDeterministicRuntime({ seed: deployment, clock });
    const leasehold = await createLeasehold({ stateAdapter, jobTypes, deployment, runtime });
    const worker = leasehold
      .createWorker()
      .implementJobType({
        typeName: "charge-payment",
        process: async ({ job }) => {
          await sleep(300);
          if (job.input % 97 === 0)
            throw failure(`Card ${job.input} was declined`, "chargeCard (/app/src/payments.ts:27:11)");
          return null;
        },
      })
      .implementJobType({
        typeName: "reserve-stock",
        process: async () => {
          await sleep(80);
          return null;
        },
      })
      .implementJobType({
        typeName: "send-email",
        process: async ({ job }) => {
          await sleep(mailMs);
          if (broken && job.input % 3 === 0)
            throw failure("Mailbox is full", "sendMail (/app/src/mail.ts:58:9)");
          return null;
        },
      })
      .implementJobType({
        typeName: "render-report",
        process: async () => {
          await sleep(20_000);
          return null;
        },
      });
    const start = (workerId: string, queues: Record<string, number>) =>
      clock.runUntil(worker.start({ workerId: `${workerId}-${deployment}`, queues }));
    const running = [
      await start("shop", { payments: 4, default: 4 }),
      await start("post", { mail: 2 }),
      await start("office", { reports: 1 }),
    ];
    return { leasehold, running };
  };

  let shop = await deploy("b81e09d", { mailMs: 900, broken: false });
  for (let at = 0; at < minutes * minute; at += 5_000) {
    if (at === newAfter * minute) {
      const before = shop;
      shop = await deploy("7f3c2a1", { mailMs: 7_000, broken: true });
      for (const worker of before.running) await clock.runUntil(worker.stop());
      await clock.runUntil(before.leasehold.close());
    }
    const order = at / 5_000 + 1;
    const { leasehold } = shop;
    await leasehold.startJobSequence({
      typeName: "charge-payment",
      queue: "payments",
      input: order,
      maxAttempts: 1,
    });
    await leasehold.startJobSequence({ typeName: "reserve-stock", input: order });
    for (const copy of [0, 1])
      await leasehold.startJobSequence({ typeName: "send-email", queue: "mail", input: 2 * order + copy });
    if (at % minute === 0)
      await leasehold.startJobSequence({ typeName: "render-report", queue: "reports", input: order });
    await clock.advanceBy(5_000);
  }
  await clock.advanceBy(2_000);

  const dashboard = createDashboard({
    leasehold: shop.leasehold,
    stateAdapter,
    authorize: () => ({ user: "grace", can: rights }),
    environment: { label: "production", tone: "danger" },
  });
  return {
    clock,
    stateAdapter,
    leasehold: shop.leasehold,
    dashboard,
    now: clock.now(),
    ...clientOf(dashboard, ""),
    close: async (): Promise<void> => {
      await dashboard.close();
      for (const worker of shop.running) await clock.runUntil(worker.stop());
      await clock.runUntil(shop.leasehold.close());
    },
  };
};
