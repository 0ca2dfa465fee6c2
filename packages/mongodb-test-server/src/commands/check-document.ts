import { calculateObjectSize } from "bson";
import { CommandError } from "../errors.ts";
import { fieldOf, isDocument, typeOf } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { matches } from "../query/matches.ts";
import type { Collection } from "../storage/collection.ts";
import type { CommandContext } from "./command.ts";
import { flagField } from "./fields.ts";

export const largestDocument: number = 16 * 1024 * 1024;

const checkSize = (document: Document, kind: "insert" | "update"): void => {
  const size = calculateObjectSize(document);
  if (size <= largestDocument) return;
  throw kind === "insert"
    ? new CommandError(
        "BadValue",
        `object to insert too large. size in bytes: ${size}, max size: ${largestDocument}`,
      )
    : new CommandError(17419, `Resulting document after update is larger than ${largestDocument}`);
};

const checkId = (document: Document): void => {
  const id = fieldOf(document, "_id");
  const type = typeOf(id);
  if (isDocument(id) && Object.keys(id).some((name) => name.startsWith("$"))) {
    throw new CommandError("DollarPrefixedFieldName", "_id fields may not contain '$'-prefixed fields");
  }
  if (type === "array" || type === "regex" || type === "undefined") {
    throw new CommandError("InvalidIdField", `The '_id' value cannot be of type ${type}`);
  }
};

/** What a document has to fulfil before it is stored. */
export const checkDocument = (
  { command }: CommandContext,
  collection: Collection,
  document: Document,
  kind: "insert" | "update",
): void => {
  checkSize(document, kind);
  if (kind === "insert") checkId(document);
  if (collection.validator === undefined || flagField(command, "bypassDocumentValidation")) return;
  if (matches(collection.validator, document, {})) return;
  throw new CommandError("DocumentValidationFailure", "Document failed validation", {
    errInfo: { failingDocumentId: fieldOf(document, "_id"), details: { operatorName: "validator" } },
  });
};
