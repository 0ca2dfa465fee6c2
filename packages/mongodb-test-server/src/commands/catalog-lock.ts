import type { Collection } from "../storage/collection.ts";
import type { CommandContext } from "./command.ts";

/** Waits until no open transaction has written to the collection: changes of the catalogue need it for themselves. */
export const untilUnused = async (
  { server, deadline }: CommandContext,
  collection: Collection,
): Promise<void> => {
  for (;;) {
    const user = [...server.store.transactions()].find(({ records }) =>
      [...records].some((record) => record.collection === collection),
    );
    if (user === undefined) return;
    await deadline.wait(user.ended);
  }
};
