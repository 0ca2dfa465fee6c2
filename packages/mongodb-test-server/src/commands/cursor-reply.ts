import { Long } from "bson";
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import type { Document } from "../bson-values/types.ts";
import type { CursorSource } from "../cursors/cursors.ts";
import type { CommandContext } from "./command.ts";

const defaultFirstBatch = 101;

export interface CursorReplyOptions {
  readonly batchSize?: number | undefined;
  readonly singleBatch?: boolean;
  /** Fields that stand beside `firstBatch`. */
  readonly extra?: Document;
}

/** The first batch of a result, and a cursor for the rest of it. */
export const openCursor = async (
  { server }: CommandContext,
  namespace: string,
  source: CursorSource,
  { batchSize = defaultFirstBatch, singleBatch = false, extra = {} }: CursorReplyOptions,
): Promise<Document> => {
  const { documents, isExhausted, postBatchResumeToken } = await source.next(batchSize, 0);
  const isOver = singleBatch || isExhausted;
  return {
    cursor: {
      firstBatch: documents,
      id: isOver ? Long.ZERO : server.cursors.open(namespace, source).id,
      ns: namespace,
      ...(postBatchResumeToken === undefined ? {} : { postBatchResumeToken }),
      ...extra,
    },
    ok: 1,
  };
};

/** `cursor: { batchSize }` of commands other than find. */
export const batchSizeOf = (command: Document): number | undefined => {
  const cursor = command["cursor"] as Document | undefined;
  const size = cursor?.["batchSize"];
  if (size === undefined || size === null) return undefined;
  if (!isNumeric(size)) throw new CommandError("TypeMismatch", "cursor.batchSize has to be a number");
  return toNumber(size);
};
