import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import type { Command, CommandContext } from "./command.ts";
import { checkCollation, collectionName, documentField, numberField } from "./fields.ts";

export const executeCountQuery = (context: CommandContext): Execution => {
  const { server, database, command, transaction, variables } = context;
  checkCollation(command);
  return findDocuments(
    server.catalog.find(database, collectionName(context), transaction),
    server.store.view(transaction),
    {
      filter: parseFilter(documentField(command, "query") ?? {}),
      variables,
      skip: numberField(command, "skip") ?? 0,
      limit: numberField(command, "limit") ?? 0,
      hint: command["hint"],
    },
    undefined,
  );
};

export const count: Command = {
  kind: "read",
  inTransactions: false,
  fields: ["query", "limit", "skip", "hint", "collation", "fields"],
  run: (context) => {
    const execution = executeCountQuery(context);
    context.server.planned("count", `${context.database}.${collectionName(context)}`, execution);
    return { n: execution.found.length, ok: 1 };
  },
};
