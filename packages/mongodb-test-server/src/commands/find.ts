import { createListSource } from "../cursors/list-source.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import { createProjection } from "../query/projection.ts";
import type { Command, CommandContext } from "./command.ts";
import { openCursor } from "./cursor-reply.ts";
import { checkCollation, collectionName, documentField, flagField, numberField } from "./fields.ts";

export const executeFind = (context: CommandContext): Execution => {
  const { server, database, command, transaction, variables } = context;
  checkCollation(command);
  const limit = numberField(command, "limit") ?? 0;
  return findDocuments(
    server.catalog.find(database, collectionName(context), transaction),
    server.store.view(transaction),
    {
      filter: parseFilter(documentField(command, "filter") ?? {}),
      variables,
      sort: documentField(command, "sort"),
      skip: numberField(command, "skip") ?? 0,
      limit,
      hint: command["hint"],
    },
    server.shuffle,
  );
};

export const find: Command = {
  kind: "read",
  inTransactions: true,
  fields: [
    "filter",
    "sort",
    "projection",
    "hint",
    "skip",
    "limit",
    "batchSize",
    "singleBatch",
    "collation",
    "let",
    "allowDiskUse",
    "noCursorTimeout",
    "allowPartialResults",
  ],
  run: async (context) => {
    const { server, database, command, variables } = context;
    const project = createProjection(documentField(command, "projection") ?? {});
    const execution = executeFind(context);
    const namespace = `${database}.${collectionName(context)}`;
    server.planned("find", namespace, execution);
    const documents = execution.found.map(({ document }) => project(document, variables));
    const limit = numberField(command, "limit") ?? 0;
    const source = createListSource(documents, limit > 0 && documents.length >= limit);
    return openCursor(context, namespace, source, {
      batchSize: numberField(command, "batchSize"),
      singleBatch: flagField(command, "singleBatch"),
    });
  },
};
