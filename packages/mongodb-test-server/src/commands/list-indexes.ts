import { CommandError } from "../errors.ts";
import { createListSource } from "../cursors/list-source.ts";
import type { Command } from "./command.ts";
import { batchSizeOf, openCursor } from "./cursor-reply.ts";
import { collectionName } from "./fields.ts";

export const listIndexes: Command = {
  kind: "read",
  fields: ["cursor"],
  run: (context) => {
    const { server, database, command } = context;
    const namespace = `${database}.${collectionName(context)}`;
    const collection = server.catalog.find(database, collectionName(context), undefined);
    if (collection === undefined)
      throw new CommandError("NamespaceNotFound", `ns does not exist: ${namespace}`);
    const specs = [...collection.indexes.values()].map(({ definition }) => definition.spec);
    return openCursor(context, namespace, createListSource(specs, true), { batchSize: batchSizeOf(command) });
  },
};
