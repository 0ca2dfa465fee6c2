import { CommandError } from "../errors.ts";
import { fieldOf, isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import type { Filter } from "../query/filter.ts";
import type { Variables } from "../query/matches.ts";
import type { Collection } from "../storage/collection.ts";
import { compileUpdate } from "../update/compile.ts";
import type { Update } from "../update/compile.ts";
import { documentToUpsert } from "../update/upsert.ts";
import { checkDocument } from "./check-document.ts";
import type { Command, CommandContext } from "./command.ts";
import {
  checkCollation,
  checkFields,
  collectionName,
  documentList,
  flagField,
  requiredDocument,
} from "./fields.ts";
import { applyUpdate, rematch } from "./modify-document.ts";
import { letOthersIn, runWriteBatch, whenFree } from "./write-batch.ts";
import type { StatementResult } from "./write-batch.ts";

interface UpdateStatement {
  readonly filter: Filter;
  readonly update: Update;
  readonly multi: boolean;
  readonly upsert: boolean;
  readonly statement: Document;
  readonly variables: Variables;
}

const statementFields = ["q", "u", "c", "multi", "upsert", "arrayFilters", "hint", "collation"];

const parseStatement = (context: CommandContext, statement: Document): UpdateStatement => {
  checkCollation(statement);
  const filter = parseFilter(requiredDocument(statement, "q"));
  const multi = flagField(statement, "multi");
  const update = compileUpdate(statement["u"], filter, statement["arrayFilters"]);
  if (multi && update.kind === "replacement") {
    throw new CommandError("FailedToParse", "multi update is not supported for replacement-style update");
  }
  if (multi && context.isRetryable) {
    throw new CommandError("InvalidOptions", "Cannot use retryable writes with multi=true");
  }
  const constants = isDocument(statement["c"]) ? statement["c"] : {};
  const variables = { ...context.variables, ...constants };
  return { filter, update, multi, upsert: flagField(statement, "upsert"), statement, variables };
};

const executeQuery = (
  context: CommandContext,
  collection: Collection | undefined,
  parsed: UpdateStatement,
): Execution => {
  const { filter, variables, multi, statement } = parsed;
  return findDocuments(
    collection,
    context.server.store.view(context.transaction),
    {
      filter,
      variables,
      limit: multi ? 0 : 1,
      hint: statement["hint"],
    },
    context.server.shuffle,
  );
};

const insertUpserted = (context: CommandContext, parsed: UpdateStatement): StatementResult => {
  const { server, database, transaction } = context;
  const collection = server.catalog.open(database, collectionName(context), transaction);
  const document = documentToUpsert(parsed.filter, parsed.update, parsed.variables);
  checkDocument(context, collection, document, "insert");
  context.server.store.insert(collection, document, context.transaction);
  return { n: 1, nModified: 0, upsertedId: fieldOf(document, "_id") };
};

const updateOne = (
  context: CommandContext,
  collection: Collection | undefined,
  parsed: UpdateStatement,
): StatementResult => {
  const execution = executeQuery(context, collection, parsed);
  context.server.planned("update", `${context.database}.${collectionName(context)}`, execution);
  const [found] = execution.found;
  if (found === undefined) return parsed.upsert ? insertUpserted(context, parsed) : { n: 0, nModified: 0 };
  const { isModified } = applyUpdate(context, found, parsed.update, parsed.variables);
  return { n: 1, nModified: Number(isModified) };
};

/** Outside a transaction each document is a write of its own, and is looked at again before it is written. */
const updateMany = async (
  context: CommandContext,
  collection: Collection | undefined,
  parsed: UpdateStatement,
): Promise<StatementResult> => {
  const execution = executeQuery(context, collection, parsed);
  context.server.planned("update", `${context.database}.${collectionName(context)}`, execution);
  if (execution.found.length === 0 && parsed.upsert) return insertUpserted(context, parsed);
  let n = 0;
  let nModified = 0;
  for (const [index, found] of execution.found.entries()) {
    if (context.transaction === undefined) await letOthersIn(index);
    await whenFree(context, () => {
      const current = rematch(context, found, parsed.filter, parsed.variables);
      if (current === undefined) return;
      const { isModified } = applyUpdate(context, current, parsed.update, parsed.variables);
      n++;
      nModified += Number(isModified);
    });
  }
  return { n, nModified };
};

export const executeUpdateQuery = (context: CommandContext): Execution => {
  const { server, database, command } = context;
  const [statement = {}] = documentList(command, "updates");
  const collection = server.catalog.find(database, collectionName(context), context.transaction);
  return executeQuery(context, collection, parseStatement(context, statement));
};

export const update: Command = {
  kind: "write",
  inTransactions: true,
  fields: ["updates", "ordered", "bypassDocumentValidation", "let"],
  run: (context) => {
    const { server, database, command } = context;
    const statements = documentList(command, "updates");
    for (const statement of statements) checkFields("update.updates", statement, statementFields);
    return runWriteBatch(context, statements.length, async (index) => {
      const collection = server.catalog.find(database, collectionName(context), context.transaction);
      const parsed = parseStatement(context, statements[index] ?? {});
      return parsed.multi ? updateMany(context, collection, parsed) : updateOne(context, collection, parsed);
    });
  },
};
