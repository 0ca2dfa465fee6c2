import type { Order } from "./job-types.ts";
import type { Shop } from "./open-shop.ts";

const catalogue = [
  ["lamp", 4_900],
  ["kettle", 3_250],
  ["chair", 8_990],
  ["notebook", 690],
  ["rain coat", 5_400],
] as const;

/** From this price on a person has to agree. */
export const approvalLimitCents = 100_000;

/** What customer number `n` of a day wants: ordinary things, with two exceptions worth watching. */
export const chooseWares = (n: number): Omit<Order, "orderId"> => {
  const [item, cents] = catalogue[n % catalogue.length]!;
  if (n === 4) return { item, cents, email: "nobody@mistyped.example" };
  if (n === 7) return { item: "cargo bike", cents: 349_000, email: "grace@example.com" };
  return { item, cents, email: `customer${n}@example.com` };
};

/** Writes the order and starts its jobs in one transaction: there is never one without the other. */
export const placeOrder = async (
  { leasehold }: Shop,
  wares: Omit<Order, "orderId">,
): Promise<{ readonly orderId: number; readonly sequenceId: string }> =>
  leasehold.runInTransaction(async (ctx) => {
    const row = ctx.client
      .prepare("INSERT INTO shop_order (item, cents, status) VALUES (?, ?, 'placed') RETURNING id")
      .get(wares.item, wares.cents) as { id: number };
    const orderId = row.id;
    const { id: sequenceId } = await leasehold.startJobSequence({
      ...ctx,
      typeName: "order",
      input: { orderId, ...wares },
      startBlockers: async () => [
        await leasehold.startJobSequence({
          ...ctx,
          typeName: "charge-payment",
          input: { orderId, cents: wares.cents },
        }),
        await leasehold.startJobSequence({
          ...ctx,
          typeName: "reserve-stock",
          input: { orderId, item: wares.item },
        }),
      ],
    });
    return { orderId, sequenceId };
  });
