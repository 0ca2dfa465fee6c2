import { fieldOf } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import type { LoggedChange } from "../storage/changes.ts";
import { tickToTimestamp } from "../storage/ticks.ts";
import { tokenOf } from "./resume-token.ts";
import { describeUpdate } from "./update-description.ts";

export interface EventOptions {
  readonly lookUp: (change: LoggedChange) => Document | null;
  /** `undefined`: only inserts and replacements carry the document. */
  readonly fullDocument: "updateLookup" | undefined;
}

/** A change as a stream reports it. */
export const eventOf = (change: LoggedChange, { lookUp, fullDocument }: EventOptions): Document => {
  const { operation, before, after, database, collection } = change;
  const event: Document = {
    _id: tokenOf(change),
    operationType: operation,
    clusterTime: tickToTimestamp(change.tick),
    wallTime: change.wallTime,
    ns: operation === "dropDatabase" ? { db: database } : { db: database, coll: collection },
  };
  const document = after ?? before;
  if (document !== undefined) event["documentKey"] = { _id: fieldOf(document, "_id") };
  if (operation === "insert" || operation === "replace") event["fullDocument"] = after;
  if (operation === "update" && before !== undefined && after !== undefined) {
    event["updateDescription"] = describeUpdate(before, after);
    if (fullDocument === "updateLookup") event["fullDocument"] = lookUp(change);
  }
  return event;
};
