import { inSession } from "./collections.ts";
import type { Store, StoreCall } from "./store.ts";

export interface QueueType {
  readonly queue: string;
  readonly typeName: string;
}

/** The queues and types that have such jobs. The indexes that begin with both skip from one value to the next. */
export const findQueueTypes = async (
  { collections: { jobs } }: Store,
  { session }: StoreCall,
  filter: { readonly live: true } | { readonly status: "blocked" },
): Promise<QueueType[]> => {
  const options = inSession(session);
  const found: QueueType[] = [];
  for (const queue of await jobs.distinct("queue", filter, options)) {
    const typeNames = await jobs.distinct("typeName", { ...filter, queue }, options);
    found.push(...typeNames.map((typeName) => ({ queue, typeName })));
  }
  return found;
};
