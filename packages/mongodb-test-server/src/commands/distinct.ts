import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { equalityKey } from "../bson-values/equality-key.ts";
import { somePathValue } from "../bson-values/paths.ts";
import type { Value } from "../bson-values/types.ts";
import { findDocuments } from "../planner/find-documents.ts";
import type { Execution } from "../planner/find-documents.ts";
import { parseFilter } from "../query/parse.ts";
import type { Command, CommandContext } from "./command.ts";
import { checkCollation, collectionName, documentField } from "./fields.ts";

export const executeDistinctQuery = (context: CommandContext): Execution => {
  const { server, database, command, transaction, variables } = context;
  checkCollation(command);
  const filter = parseFilter(documentField(command, "query") ?? {});
  return findDocuments(
    server.catalog.find(database, collectionName(context), transaction),
    server.store.view(transaction),
    { filter, variables, hint: command["hint"] },
    undefined,
  );
};

export const distinct: Command = {
  kind: "read",
  inTransactions: true,
  fields: ["key", "query", "collation", "hint"],
  run: (context) => {
    const { key } = context.command;
    if (typeof key !== "string")
      throw new CommandError("TypeMismatch", "the key of distinct has to be a string");
    const execution = executeDistinctQuery(context);
    context.server.planned("distinct", `${context.database}.${collectionName(context)}`, execution);
    const values = new Map<string, Value>();
    for (const { document } of execution.found) {
      somePathValue(document, key.split("."), false, (value) => {
        for (const item of Array.isArray(value) ? (value as Value[]) : [value]) {
          if (item !== undefined) values.set(equalityKey(item), item);
        }
        return false;
      });
    }
    return { values: [...values.values()].sort(compareValues), ok: 1 };
  },
};
