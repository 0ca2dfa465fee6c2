import { CommandError } from "../errors.ts";
import type { Document } from "../bson-values/types.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import type { Filter } from "../query/filter.ts";
import { parseFilter } from "../query/parse.ts";
import type { Command, CommandContext } from "./command.ts";
import {
  checkCollation,
  checkFields,
  collectionName,
  documentList,
  numberField,
  requiredDocument,
} from "./fields.ts";
import { rematch } from "./modify-document.ts";
import { letOthersIn, runWriteBatch, whenFree } from "./write-batch.ts";
import type { StatementResult } from "./write-batch.ts";

const execute = (
  context: CommandContext,
  statement: Document,
): { execution: Execution; filter: Filter; limit: number } => {
  const { server, database, transaction, variables } = context;
  checkCollation(statement);
  const limit = numberField(statement, "limit") ?? 0;
  if (limit > 1) throw new CommandError("FailedToParse", "The limit field in delete objects must be 0 or 1.");
  const filter = parseFilter(requiredDocument(statement, "q"));
  const collection = server.catalog.find(database, collectionName(context), transaction);
  const query = { filter, variables, limit, hint: statement["hint"] };
  return {
    execution: findDocuments(collection, server.store.view(transaction), query, server.shuffle),
    filter,
    limit,
  };
};

const deleteMatching = async (context: CommandContext, statement: Document): Promise<StatementResult> => {
  const { server, database, transaction, variables } = context;
  const { execution, filter, limit } = execute(context, statement);
  if (limit === 0 && context.isRetryable) {
    throw new CommandError("InvalidOptions", "Cannot use retryable writes with limit=0");
  }
  server.planned("delete", `${database}.${collectionName(context)}`, execution);
  let n = 0;
  for (const [index, found] of execution.found.entries()) {
    if (limit === 0 && transaction === undefined) await letOthersIn(index);
    const remove = () => {
      const current = rematch(context, found, filter, variables);
      if (current === undefined) return;
      server.store.replace(current.record, undefined, "delete", transaction);
      n++;
    };
    if (limit === 1) remove();
    else await whenFree(context, remove);
  }
  return { n };
};

export const executeDeleteQuery = (context: CommandContext): Execution =>
  execute(context, documentList(context.command, "deletes")[0] ?? {}).execution;

export const deleteCommand: Command = {
  kind: "write",
  inTransactions: true,
  fields: ["deletes", "ordered", "let"],
  run: (context) => {
    const statements = documentList(context.command, "deletes");
    for (const statement of statements)
      checkFields("delete.deletes", statement, ["q", "limit", "hint", "collation"]);
    return runWriteBatch(context, statements.length, (index) =>
      deleteMatching(context, statements[index] ?? {}),
    );
  },
};
