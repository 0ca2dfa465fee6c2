import type { Shop } from "./open-shop.ts";

export interface WaitingApproval {
  readonly orderId: number;
  readonly sequenceId: string;
  readonly item: string;
  readonly cents: number;
  readonly waitedMs: number;
}

/** The orders that wait for a person. */
export const listApprovals = async ({ leasehold }: Shop): Promise<WaitingApproval[]> => {
  const { jobs } = await leasehold.jobs.list({
    typeName: "approve-order",
    status: "pending",
    order: "oldest",
  });
  return jobs.map(({ input, sequenceId, createdAt }) => ({
    orderId: input.orderId,
    sequenceId,
    item: input.item,
    cents: input.cents,
    waitedMs: Date.now() - createdAt.getTime(),
  }));
};

/** What the route behind the button "approve" would do: completes the step, and the sequence goes on. */
export const approve = async ({ leasehold }: Shop, { sequenceId }: WaitingApproval): Promise<void> => {
  await leasehold.completeJobSequence({
    id: sequenceId,
    typeName: "order",
    complete: async ({ job, complete }) => {
      // Somebody else was faster.
      if (job.typeName !== "approve-order" || job.status === "completed") return;
      await complete(job, ({ continueWith }) => continueWith({ typeName: "fulfil-order", input: job.input }));
    },
  });
};
