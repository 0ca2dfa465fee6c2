import { CommandError, notImplemented } from "../errors.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { describeExecution } from "../planner/explain.ts";
import type { Execution } from "../planner/find-documents.ts";
import { executeAggregateQuery } from "./aggregate.ts";
import type { Command, CommandContext } from "./command.ts";
import { executeCountQuery } from "./count.ts";
import { executeDeleteQuery } from "./delete.ts";
import { executeDistinctQuery } from "./distinct.ts";
import { executeFindAndModifyQuery } from "./find-and-modify.ts";
import { executeFind } from "./find.ts";
import { executeUpdateQuery } from "./update.ts";

const queries: Readonly<Record<string, (context: CommandContext) => Execution>> = {
  find: executeFind,
  aggregate: executeAggregateQuery,
  count: executeCountQuery,
  distinct: executeDistinctQuery,
  update: executeUpdateQuery,
  delete: executeDeleteQuery,
  findAndModify: executeFindAndModifyQuery,
  findandmodify: executeFindAndModifyQuery,
};

export const explain: Command = {
  kind: "read",
  fields: ["verbosity"],
  run: (context): Document => {
    const { target, server } = context;
    if (!isDocument(target)) throw new CommandError("TypeMismatch", "explain needs a command");
    const [name = "", collection] = Object.entries(target)[0] ?? [];
    const query = queries[name];
    if (query === undefined) throw notImplemented(`explain of ${name}`);
    const execution = query({ ...context, name, target: collection, command: target });
    return {
      explainVersion: "1",
      ...describeExecution(execution, `${context.database}.${String(collection)}`),
      command: target,
      serverInfo: { host: server.address() },
      ok: 1,
    };
  },
};
