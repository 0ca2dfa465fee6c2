import { Long } from "bson";
import { CommandError } from "../errors.ts";
import type { Command } from "./command.ts";
import { changeStreamLabels } from "../transactions/labels.ts";
import { numberField } from "./fields.ts";

const defaultWaitMs = 1000;

export const getMore: Command = {
  kind: "read",
  inTransactions: true,
  fields: ["collection", "batchSize", "term", "lastKnownCommittedOpTime"],
  run: async ({ server, target, database, command }) => {
    const id = target instanceof Long ? target : Long.fromNumber(Number(target));
    const cursor = server.cursors.get(id);
    if (cursor.namespace !== `${database}.${String(command["collection"])}`) {
      throw new CommandError(
        "Unauthorized",
        `Requested getMore on namespace '${database}.${String(command["collection"])}', but cursor belongs to a different namespace ${cursor.namespace}`,
      );
    }
    const hit = server.failPoints.hit("failGetMoreAfterCursorCheckout", () => true);
    if (hit?.errorCode !== undefined) {
      const labels = cursor.source.isChangeStream === true ? changeStreamLabels(hit.errorCode) : [];
      throw new CommandError(hit.errorCode, "Failing getMore via a fail point", {}, labels);
    }
    const size = numberField(command, "batchSize") ?? 0;
    const waitMs = numberField(command, "maxTimeMS") ?? defaultWaitMs;
    const batch = await cursor.source.next(size === 0 ? Number.POSITIVE_INFINITY : size, waitMs);
    if (batch.isExhausted) server.cursors.close(id);
    return {
      cursor: {
        nextBatch: batch.documents,
        id: batch.isExhausted ? Long.ZERO : id,
        ns: cursor.namespace,
        ...(batch.postBatchResumeToken === undefined
          ? {}
          : { postBatchResumeToken: batch.postBatchResumeToken }),
      },
      ok: 1,
    };
  },
};
