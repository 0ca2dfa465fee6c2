import {
  type DefineBlocker,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
  type JobTypes,
} from "leasehold";

export interface Order {
  readonly orderId: number;
  readonly item: string;
  readonly cents: number;
  readonly email: string;
}

/**
 *   charge-payment ──┐
 *                    ├──▶ order ──▶ fulfil-order ──▶ send-email
 *   reserve-stock ───┘      │             ▲
 *                           ▼             │
 *                     approve-order ──────┘   (dear ones: a person decides)
 */
export interface ShopJobTypes {
  order: {
    input: Order;
    output: DefineContinuationOutput<"approve-order" | "fulfil-order">;
    blockers: [DefineBlocker<"charge-payment">, DefineBlocker<"reserve-stock">];
  };
  "charge-payment": { input: { orderId: number; cents: number }; output: { receipt: string } };
  "reserve-stock": { input: { orderId: number; item: string }; output: { shelf: string } };
  "approve-order": {
    input: DefineContinuationInput<Order & { shelf: string }>;
    output: DefineContinuationOutput<"fulfil-order">;
  };
  "fulfil-order": {
    input: DefineContinuationInput<Order & { shelf: string }>;
    output: DefineContinuationOutput<"send-email">;
  };
  "send-email": {
    input: DefineContinuationInput<{ orderId: number; email: string; parcel: string }>;
    output: { messageId: string };
  };
  "daily-report": { input: null; output: { orders: number } };
  "ask-for-review": { input: { orderId: number }; output: null };
  "count-stock": { input: null; output: { sold: number } };
}

const soon = { type: "exponential", baseMs: 150, maxMs: 1_500 } as const;

export const jobTypes: JobTypes<ShopJobTypes> = defineUnionJobTypes<ShopJobTypes>({
  "charge-payment": { queue: "payments", retry: soon, timeoutMs: 5_000 },
  "reserve-stock": { queue: "warehouse", retry: soon },
  "fulfil-order": { queue: "warehouse", retry: soon },
  // Customers take turns, and get the messages about their orders in order.
  "send-email": { queue: "mail", retry: soon, group: ({ email }) => email, ordered: true },
  "approve-order": { queue: "office" },
  "daily-report": { queue: "office" },
  "count-stock": { queue: "office" },
  "ask-for-review": { queue: "mail" },
});
