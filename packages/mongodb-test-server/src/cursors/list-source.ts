import { calculateObjectSize } from "bson";
import type { Document } from "../bson-values/types.ts";
import type { CursorSource } from "./cursors.ts";

const largestBatch = 16 * 1024 * 1024;

/**
 * Hands out a result that is already known. As on the server, a batch that was filled says nothing about what comes: only
 * an unfilled one, or the limit of the query, ends the cursor.
 */
export const createListSource = (documents: readonly Document[], hasReachedLimit: boolean): CursorSource => {
  let position = 0;
  return {
    next: (size) => {
      const batch: Document[] = [];
      let bytes = 0;
      while (batch.length < size && position < documents.length) {
        const document = documents[position];
        if (document === undefined) break;
        bytes += calculateObjectSize(document);
        if (bytes > largestBatch && batch.length > 0) break;
        batch.push(document);
        position++;
      }
      const isAtEnd = position >= documents.length;
      return { documents: batch, isExhausted: isAtEnd && (hasReachedLimit || batch.length < size) };
    },
  };
};
