import { CommandError, notImplemented } from "../errors.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { createPipelineContext, runStages, splitPipeline } from "../aggregate/pipeline.ts";
import type { PipelineContext } from "../aggregate/stage.ts";
import { createChangeStreamSource } from "../change-streams/change-stream-source.ts";
import { createListSource } from "../cursors/list-source.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import type { Command, CommandContext } from "./command.ts";
import { batchSizeOf, openCursor } from "./cursor-reply.ts";
import { checkCollation, documentField, flagField, listField } from "./fields.ts";

const namespaceOf = ({ database, target }: CommandContext): string =>
  `${database}.${typeof target === "string" ? target : "$cmd.aggregate"}`;

const contextOf = ({ server, database, transaction, variables }: CommandContext): PipelineContext =>
  createPipelineContext(variables, (collection, filter) => {
    const found = server.catalog.find(database, collection, transaction);
    const query = { filter: parseFilter(filter), variables };
    return findDocuments(found, server.store.view(transaction), query, server.shuffle).found.map(
      ({ document }) => document,
    );
  });

const firstStage = (stages: readonly Value[]): [string, Value] => {
  const [first] = stages;
  return (isDocument(first) ? Object.entries(first)[0] : undefined) ?? ["", undefined];
};

export const executeAggregateQuery = ({
  server,
  database,
  target,
  command,
  transaction,
  variables,
}: CommandContext): Execution => {
  const { filter, sort, limit } = splitPipeline(listField(command, "pipeline"));
  const collection =
    typeof target === "string" ? server.catalog.find(database, target, transaction) : undefined;
  return findDocuments(
    collection,
    server.store.view(transaction),
    { filter: parseFilter(filter), variables, sort, limit, hint: command["hint"] },
    server.shuffle,
  );
};

const openChangeStream = (
  context: CommandContext,
  spec: Value,
  stages: readonly Value[],
): Promise<Document> => {
  const { server, database, target, command } = context;
  if (context.transaction !== undefined) {
    throw new CommandError(
      "OperationNotSupportedInTransaction",
      "$changeStream cannot be used in a transaction",
    );
  }
  const isWholeCluster = isDocument(spec) && spec["allChangesForCluster"] === true;
  const watched = {
    database: isWholeCluster ? undefined : database,
    collection: typeof target === "string" ? target : undefined,
  };
  const source = createChangeStreamSource(server, watched, spec, stages, contextOf(context));
  return openCursor(context, namespaceOf(context), source, { batchSize: batchSizeOf(command) });
};

export const aggregate: Command = {
  kind: "read",
  inTransactions: true,
  fields: [
    "pipeline",
    "cursor",
    "explain",
    "allowDiskUse",
    "bypassDocumentValidation",
    "collation",
    "hint",
    "let",
  ],
  run: async (context) => {
    const { server, command, target, variables } = context;
    checkCollation(command);
    documentField(command, "cursor");
    if (flagField(command, "explain"))
      throw notImplemented("explain as an option of aggregate; use the command");
    const stages = listField(command, "pipeline");
    const [name, spec] = firstStage(stages);
    if (name === "$changeStream") return openChangeStream(context, spec, stages.slice(1));
    const pipelineContext = contextOf(context);
    let documents: Document[];
    if (name === "$documents") {
      documents = runStages(stages.slice(1), spec as Document[], pipelineContext);
    } else if (typeof target === "string") {
      const execution = executeAggregateQuery(context);
      server.planned("aggregate", namespaceOf(context), execution);
      const found = execution.found.map(({ document }) => document);
      documents = runStages(splitPipeline(stages).rest, found, { ...pipelineContext, variables });
    } else {
      throw notImplemented(`the aggregation stage ${name} of a database`);
    }
    return openCursor(context, namespaceOf(context), createListSource(documents, false), {
      batchSize: batchSizeOf(command),
    });
  },
};
