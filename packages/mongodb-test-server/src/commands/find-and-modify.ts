import { CommandError } from "../errors.ts";
import { fieldOf } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import { createProjection } from "../query/projection.ts";
import { compileUpdate } from "../update/compile.ts";
import { documentToUpsert } from "../update/upsert.ts";
import { checkDocument } from "./check-document.ts";
import type { Command, CommandContext } from "./command.ts";
import { checkCollation, collectionName, documentField, flagField } from "./fields.ts";
import { applyUpdate } from "./modify-document.ts";
import { runOnce, whenFree } from "./write-batch.ts";

export const executeFindAndModifyQuery = (context: CommandContext): Execution => {
  const { server, database, command, transaction, variables } = context;
  checkCollation(command);
  return findDocuments(
    server.catalog.find(database, collectionName(context), transaction),
    server.store.view(transaction),
    {
      filter: parseFilter(documentField(command, "query") ?? {}),
      variables,
      sort: documentField(command, "sort"),
      limit: 1,
      hint: command["hint"],
    },
    server.shuffle,
  );
};

const modify = (context: CommandContext): Document => {
  const { server, database, command, transaction, variables } = context;
  const isRemoval = flagField(command, "remove");
  if (isRemoval === "update" in command) {
    throw new CommandError("FailedToParse", "Either an update or remove=true must be specified");
  }
  const project = createProjection(documentField(command, "fields") ?? {});
  const execution = executeFindAndModifyQuery(context);
  server.planned("findAndModify", `${database}.${collectionName(context)}`, execution);
  const [found] = execution.found;
  if (isRemoval) {
    if (found !== undefined) server.store.replace(found.record, undefined, "delete", transaction);
    return {
      lastErrorObject: { n: found === undefined ? 0 : 1 },
      value: found === undefined ? null : project(found.document, variables),
      ok: 1,
    };
  }
  const filter = parseFilter(documentField(command, "query") ?? {});
  const update = compileUpdate(command["update"], filter, command["arrayFilters"]);
  const returnsNew = flagField(command, "new");
  if (found !== undefined) {
    const { after } = applyUpdate(context, found, update, variables);
    return {
      lastErrorObject: { n: 1, updatedExisting: true },
      value: project(returnsNew ? after : found.document, variables),
      ok: 1,
    };
  }
  if (!flagField(command, "upsert"))
    return { lastErrorObject: { n: 0, updatedExisting: false }, value: null, ok: 1 };
  const document = documentToUpsert(filter, update, variables);
  const collection = server.catalog.open(database, collectionName(context), transaction);
  checkDocument(context, collection, document, "insert");
  server.store.insert(collection, document, transaction);
  return {
    lastErrorObject: { n: 1, updatedExisting: false, upserted: fieldOf(document, "_id") },
    value: returnsNew ? project(document, variables) : null,
    ok: 1,
  };
};

export const findAndModify: Command = {
  kind: "write",
  inTransactions: true,
  fields: [
    "query",
    "sort",
    "remove",
    "update",
    "new",
    "fields",
    "upsert",
    "bypassDocumentValidation",
    "arrayFilters",
    "hint",
    "collation",
    "let",
  ],
  run: async (context) => {
    const { result, isRepeated } = await runOnce(context, 0, () => whenFree(context, () => modify(context)));
    return isRepeated ? { ...result, retriedStmtId: 0 } : result;
  },
};
