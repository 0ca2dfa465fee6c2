import { serialize } from "bson";
import { compareValues } from "../bson-values/compare.ts";
import type { Document } from "../bson-values/types.ts";
import type { Found } from "../planner/execute.ts";
import type { Filter } from "../query/filter.ts";
import { matches } from "../query/matches.ts";
import type { Variables } from "../query/matches.ts";
import { visibleDocument } from "../storage/records.ts";
import { checkIdKept } from "../update/compile.ts";
import type { Update } from "../update/compile.ts";
import { withIdFirst } from "../update/upsert.ts";
import { checkDocument } from "./check-document.ts";
import type { CommandContext } from "./command.ts";

/** Byte for byte: 1 and 1.0 compare as equal, but one in place of the other is a change. */
const isSame = (a: Document, b: Document): boolean =>
  a === b || (compareValues(a, b) === 0 && Buffer.compare(serialize(a), serialize(b)) === 0);

/** What is there now of a document found earlier, if the filter still holds for it. */
export const rematch = (
  { server, transaction }: CommandContext,
  found: Found,
  filter: Filter,
  variables: Variables,
): Found | undefined => {
  const document = visibleDocument(found.record, server.store.view(transaction));
  if (document === found.document) return found;
  return document !== undefined && matches(filter, document, variables)
    ? { record: found.record, document }
    : undefined;
};

/** Writes the updated document; an update that changes nothing writes nothing and so meets no conflict. */
export const applyUpdate = (
  context: CommandContext,
  { record, document }: Found,
  update: Update,
  variables: Variables,
): { after: Document; isModified: boolean } => {
  const result = update.apply(document, variables, false);
  const after =
    update.kind === "pipeline" ? withIdFirst({ ...result, _id: result["_id"] ?? document["_id"] }) : result;
  checkIdKept(document, after, update.kind);
  if (isSame(document, after)) return { after: document, isModified: false };
  checkDocument(context, record.collection, after, "update");
  context.server.store.replace(
    record,
    after,
    update.kind === "replacement" ? "replace" : "update",
    context.transaction,
  );
  return { after, isModified: true };
};
